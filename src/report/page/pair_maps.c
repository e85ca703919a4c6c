/* Every pair of heads: a picture each module, scores above and values below the diagonal. Squares
 * of one shade are one path of horizontal strokes, so that a module of 64 heads takes some
 * kilobytes. */
#include "report/page/heads.h"

/* Beyond so many squares the palest shade is left out. */
enum { MANY_SQUARES = 100000 };

/* +shade, -shade of a negative number, 0. */
static int shade_at(const struct al_page_module *m, size_t row, size_t column, int least)
{
	const double number = (column > row ? m->scores : m->values)[row * m->n + column];
	const int shade = row == column || isnan(number) ? 0 : al_page_shade(number);

	if (shade < least)
		return 0;
	return number < 0 ? -shade : shade;
}

static void add_run(struct al_text *out, int shade, bool *is_begun, size_t x, size_t y, size_t n)
{
	if (!*is_begun)
		al_text_addf(out, "<path class=%c%d d=\"", shade > 0 ? 'p' : 'q',
			shade > 0 ? shade : -shade);
	*is_begun = true;
	al_text_addf(out, "M%zu %zuh%zu", x, y, n);
}

static void add_shade(struct al_text *out, const struct al_page_module *m, int shade, int least)
{
	bool is_begun = false;

	for (size_t y = 0; y < m->n; y++)
		for (size_t x = 0, n; x < m->n; x += n) {
			for (n = 0; x + n < m->n && shade_at(m, y, x + n, least) == shade;)
				n++;
			if (n > 0)
				add_run(out, shade, &is_begun, x, y, n);
			else
				n = 1;
		}
	if (is_begun)
		al_text_add(out, "\"/>");
}

static void add_module(struct al_text *out, const struct al_page_module *m, int least)
{
	al_html_addf(out,
		"<figure><svg role=img width=%zu height=%zu viewBox=\"0 0 %zu %zu\" "
		"aria-label=\"%s\"><g transform=\"translate(0 .5)\">",
		m->n, m->n, m->n, m->n, m->name);
	for (int shade = 1 - AL_PAGE_SHADES; shade < AL_PAGE_SHADES; shade++)
		if (shade)
			add_shade(out, m, shade, least);
	al_html_addf(out,
		"</g><path class=diagonal d=\"M0 0L%zu "
		"%zu\"/></svg><figcaption>%s</figcaption></figure>\n",
		m->n, m->n, m->name);
}

static void add_key(struct al_text *out, int least)
{
	al_text_add(out, "<p class=key><span>negative <svg width=234 height=14>");
	for (int i = 1 - AL_PAGE_SHADES; i < AL_PAGE_SHADES; i++)
		al_text_addf(out, "<path class=%c%d fill=none stroke-width=14 d=\"M%d 7h18\"/>",
			i < 0 ? 'q' : 'p', i < 0 ? -i : i, 18 * (i + AL_PAGE_SHADES - 1));
	al_text_addf(out, "</svg> positive, from %g on</span></p>\n", al_page_shade_least(least));
}

void al_page_pair_maps(struct al_text *out, const struct al_page_heads *heads)
{
	size_t n_squares = 0;

	for (size_t i = 0; i < heads->n_modules; i++)
		n_squares += heads->modules[i].n * heads->modules[i].n;
	const int least = n_squares > MANY_SQUARES ? 2 : 1;
	al_text_add(out, "<div class=pairs>\n");
	for (size_t i = 0; i < heads->n_modules; i++)
		add_module(out, &heads->modules[i], least);
	al_text_add(out, "</div>\n");
	add_key(out, least);
}
