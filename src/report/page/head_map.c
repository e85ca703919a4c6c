/* The head map: a line each module, a square each head. */
#include "report/page/heads.h"

enum { TOP = 46, LETTER = 9, GROUP_GAP = 8, LABEL_LETTERS = 26 };

struct layout {
	const struct al_page_heads *heads;
	const struct al_page_left_out *left_out;
	size_t n_left_out, n_lines, n_columns;
	int pitch, left, group_size; /* group_size 0: no groups */
};

/* ---- layout ---- */

static void take_label(size_t *most, const char *name)
{
	const size_t columns = al_text_columns(name);

	*most = al_most(columns, *most);
}

/* How many neighbors read one key, where that is alike in all modules. */
static int find_group_size(const struct al_page_heads *heads)
{
	size_t size = 0;

	for (size_t i = 0; i < heads->n_modules; i++) {
		const struct al_page_module *m = &heads->modules[i];
		size_t own = 1;
		while (own < m->n && m->groups[own] == m->groups[0])
			own++;
		if (!m->has_groups || (size > 0 && own != size))
			return 0;
		size = own;
	}
	return (int)size;
}

static struct layout arrange(const struct al_page_heads *heads,
	const struct al_page_left_out *left_out, size_t n_left_out)
{
	struct layout l = {heads, left_out, n_left_out, heads->n_modules + n_left_out, 0, 0, 0,
		find_group_size(heads)};
	size_t label = 0;

	for (size_t i = 0; i < heads->n_modules; i++) {
		take_label(&label, heads->modules[i].name);
		l.n_columns = al_most(heads->modules[i].n, l.n_columns);
	}
	for (size_t i = 0; i < n_left_out; i++) {
		take_label(&label, left_out[i].module);
		l.n_columns = al_most(left_out[i].n_heads, l.n_columns);
	}
	label = al_least(label, LABEL_LETTERS);
	l.pitch = l.n_columns <= 12 ? 44 : l.n_columns <= 16 ? 36 : l.n_columns <= 32 ? 26 : 20;
	l.left = (int)label * LETTER + 14;
	return l;
}

static int place(const struct layout *l, size_t column)
{
	const int gaps = l->group_size ? (int)column / l->group_size * GROUP_GAP : 0;

	return l->left + (int)column * l->pitch + gaps;
}

/* ---- parts ---- */

static void add_label(struct al_text *out, const struct layout *l, const char *name, int y)
{
	const char *end = name;

	for (size_t n = 0; *end && n < LABEL_LETTERS; n++)
		end += al_character_at(end).bytes;
	AL_TEXT(cut);
	al_text_add_bytes(&cut, name, (size_t)(end - name));
	al_html_addf(out, "<text class=mu x=%d y=%d text-anchor=end>%s%s</text>", l->left - 8,
		y + l->pitch / 2 + 4, cut.data, *end ? "\342\200\246" : "");
}

static const char *name_shade(const char *of, int shade, char out[16])
{
	strcpy(out, of);
	out[1] = (char)('0' + shade);
	return out;
}

/* By what it does on tokens, or what it costs to leave out the head, where that is known; else by
 * its nearest head. */
static const char *name_class(const struct layout *l, const struct al_page_module *m, size_t head,
	char out[16])
{
	const int64_t nearest = al_page_nearest(l->heads, m, head, 0);
	const bool has_costs = l->heads->has_costs;

	if (has_costs ? isnan(m->costs[head]) : nearest < 0)
		return "unknown";
	if (has_costs && l->heads->is_on_tokens)
		return m->doing[head] < 0 ? "s0" : name_shade("b0", m->doing[head], out);
	return name_shade("s0",
		has_costs ? al_page_cost_shade(m->costs[head])
			  : al_page_shade(
				  fmax(al_page_likeness(l->heads, m, head, (size_t)nearest), 0)),
		out);
}

static void add_head(struct al_text *out, const struct layout *l, const struct al_page_module *m,
	size_t head, int y)
{
	const int side = l->pitch - 3, x = place(l, head);
	char class[16];

	al_text_addf(out, "<g class=\"head%s\"><rect class=%s x=%d y=%d width=%d height=%d rx=3 />",
		m->marks[head] ? " marked" : "", name_class(l, m, head, class), x, y, side, side);
	if (m->marks[head])
		al_text_addf(out, "<text class=letter x=%d y=%d text-anchor=middle>%s</text>",
			x + side / 2, y + side / 2 + 5, m->marks[head]);
	al_text_add(out, "</g>");
}

static void add_module(struct al_text *out, const struct layout *l, const struct al_page_module *m,
	int y)
{
	al_text_add(out, "<g>");
	add_label(out, l, m->name, y);
	for (size_t head = 0; head < m->n; head++)
		add_head(out, l, m, head, y);
	al_text_add(out, "</g>\n");
}

static void add_left_out(struct al_text *out, const struct layout *l,
	const struct al_page_left_out *module, int y)
{
	const size_t last = module->n_heads > 0 ? module->n_heads - 1 : 0;

	al_html_addf(out, "<g class=hatched><title>%s</title>", module->why);
	add_label(out, l, module->module, y);
	al_text_addf(out, "<rect fill=\"url(#hatch)\" x=%d y=%d width=%d height=%d rx=3 /></g>\n",
		l->left, y, place(l, last) + l->pitch - 3 - l->left, l->pitch - 3);
}

static void add_lines(struct al_text *out, const struct layout *l)
{
	size_t module = 0, left_out = 0;

	for (size_t line = 0; line < l->n_lines; line++) {
		const int y = TOP + (int)line * l->pitch;
		if (left_out < l->n_left_out && l->left_out[left_out].before <= module)
			add_left_out(out, l, &l->left_out[left_out++], y);
		else
			add_module(out, l, &l->heads->modules[module++], y);
	}
}

static void add_numbers(struct al_text *out, const struct layout *l)
{
	const size_t step = l->pitch < 24 ? 4 : 1;

	al_text_addf(out, "<text x=%d y=16>head</text>\n", l->left);
	for (size_t i = 0; i < l->n_columns; i += step)
		al_text_addf(out, "<text class=mu x=%d y=38 text-anchor=middle>%zu</text>",
			place(l, i) + (l->pitch - 3) / 2, i);
	al_text_add(out, "\n");
}

/* ---- the key ---- */

static void add_ramp(struct al_text *out, const char *from, const char *to)
{
	al_text_addf(out, "<p class=key><span>%s <svg width=126 height=14>", from);
	for (int i = 0; i < AL_PAGE_SHADES; i++)
		al_text_addf(out, "<rect class=s%d x=%d width=18 height=14 />", i, 18 * i);
	al_text_addf(out, "</svg> %s", to);
}

static bool does(const struct al_page_heads *heads, int doing)
{
	for (size_t i = 0; i < heads->n_modules; i++)
		for (size_t head = 0; head < heads->modules[i].n; head++)
			if (heads->modules[i].doing[head] == doing)
				return true;
	return false;
}

static void add_color(struct al_text *out, const char *class, const char *text)
{
	al_html_addf(out,
		"<span><svg width=14 height=14><rect class=%s width=14 height=14 rx=3 "
		"/></svg>%s</span>",
		class, text);
}

/* What heads attend to, as far as one does. */
static void add_doings(struct al_text *out, const struct al_page_heads *heads)
{
	char class[16];

	al_text_add(out, "<p class=key>");
	for (size_t i = 0; i < heads->doings->n; i++)
		if (does(heads, (int)i))
			add_color(out, name_shade("b0", (int)i, class), heads->doings->items[i]);
	if (does(heads, AL_PAGE_NO_HEAD))
		add_color(out, "s0", "nothing that stands out");
}

static void add_shades(struct al_text *out, const struct layout *l)
{
	const bool has_costs = l->heads->has_costs;

	add_ramp(out, has_costs ? "costs more" : "nearest head unlike",
		has_costs ? "less (below " : "alike (from ");
	for (int i = 1; i < AL_PAGE_SHADES; i++)
		al_text_addf(out, "%s%g", i > 1 ? ", " : "",
			has_costs ? al_page_cost_shade_most(i) : al_page_shade_least(i));
	al_text_add(out, has_costs ? ") of an average head of the layer</span>" : ")</span>");
}

static void add_key(struct al_text *out, const struct layout *l)
{
	const struct al_page_heads *heads = l->heads;

	if (heads->has_costs && heads->is_on_tokens)
		add_doings(out, heads);
	else
		add_shades(out, l);
	if (heads->is_on_tokens || !heads->has_costs)
		al_text_add(out, "<span><b>A A</b> the same letter: copies of each other</span>");
	if (heads->has_costs)
		al_text_addf(out,
			"<span><b>x</b> costs less than %g of an average head of the layer</span>",
			AL_PAGE_REMOVABLE);
	else
		al_text_add(out, "<span><b>x</b> writes almost nothing</span>");
	if (l->group_size)
		al_text_add(out, "<span>gaps: heads of a group read one key and value</span>");
	if (l->n_left_out)
		al_text_add(out, "<span>hatched: not measured</span>");
	al_text_add(out, "</p>\n");
}

void al_page_head_map(struct al_text *out, const struct al_page_heads *heads,
	const struct al_page_left_out *left_out, size_t n_left_out)
{
	const struct layout l = arrange(heads, left_out, n_left_out);
	const int width = place(&l, l.n_columns) + 6, height = TOP + (int)l.n_lines * l.pitch + 4;

	al_text_addf(out,
		"<div class=scroll><svg id=map class=\"%s\" role=grid width=%d height=%d "
		"viewBox=\"0 0 %d %d\" aria-label=\"Map of heads: a row each module, a column each "
		"head; %s\">\n",
		l.n_columns > 16 ? "wide" : "", width, height, width, height,
		heads->has_costs && heads->is_on_tokens ? "the color: what it attends to"
			: heads->has_costs ? "the darker, the less it costs to leave it out"
					   : "the darker, the more like the nearest head of its "
					     "module");
	al_text_add(out,
		"<defs><pattern id=hatch class=hatch width=6 height=6 patternUnits=userSpaceOnUse "
		"patternTransform=\"rotate(45)\"><path d=\"M0 0V6\"/></pattern></defs>\n");
	add_numbers(out, &l);
	add_lines(out, &l);
	al_text_add(out, "</svg></div>\n");
	add_key(out, &l);
	for (size_t i = 0; i < n_left_out; i++)
		al_html_addf(out, "<p class=note>%s</p>\n", left_out[i].why);
}
