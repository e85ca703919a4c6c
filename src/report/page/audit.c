/* The page of an audit, from the verdict to the tables. */
#include "audit/verdict.h"
#include "report/page/audit.h"

/* ---- tiles ---- */

static size_t count_twins(const struct al_table *redundant)
{
	size_t n = 0;
	double twin;

	for (size_t row = 0; row < redundant->n_rows; row++)
		n += al_table_number(redundant, row, "twin", &twin);
	return n;
}

/* "0.238 – 0.371", the least and the largest number of a column; "-": there is none. */
static const char *range_text(struct al_arena *arena, const struct al_table *table, const char *key)
{
	const int column = al_table_find_column(table, key);
	double low, high;
	const size_t least = al_table_extreme(table, key, -1, &low),
		     most = al_table_extreme(table, key, 1, &high);

	if (least == table->n_rows)
		return "-";
	const struct al_column *c = &table->columns[column];
	const char *first = al_cell_display(arena, &al_page_style, c, &table->rows[least][column]);
	const char *last = al_cell_display(arena, &al_page_style, c, &table->rows[most][column]);
	return strcmp(first, last) == 0 ? first
					: al_format(arena, "%s \342\200\223 %s", first, last);
}

static void add_tiles(struct al_text *out, const struct al_audit_page *page)
{
	const struct al_table *redundant = page->redundant;
	struct al_page_tile tiles[4];
	size_t n = 0;

	AL_ARENA(arena);
	if (redundant && page->heads) {
		const size_t twins = count_twins(redundant);
		tiles[n++] = (struct al_page_tile){al_format(&arena, "%zu", redundant->n_rows),
			al_format(&arena,
				"of %zu heads can go: they cost %d %% or less, or are half "
				"another head",
				page->heads->n_rows, AL_REDUNDANT_PERCENT)};
		tiles[n++] = (struct al_page_tile){al_format(&arena, "%zu", twins),
			"repeat another head of their module"};
		tiles[n++] = (struct al_page_tile){al_format(&arena, "%zu",
							   redundant->n_rows - twins),
			"write almost nothing"};
	}
	if (page->layers)
		tiles[n++] = (struct al_page_tile){range_text(&arena, page->layers, "redundancy"),
			"of the heads' score directions are shared beyond chance, from module to "
			"module"};
	if (n > 0)
		al_page_tiles(out, tiles, n);
}

/* ---- heads ---- */

static void add_map(struct al_text *out, const struct al_audit_page *page,
	const struct al_page_heads *heads)
{
	al_page_begin_section(out, "heads", "Which heads say the same",
		"Each square is a head. The darker, the more it is like its nearest head in the "
		"module, in what it looks at (scores) and in what it writes (values): the smaller "
		"of both cosines. Choose a square, or move with the arrow keys.");
	al_text_add(out, "<div class=two><div>");
	al_page_head_map(out, heads, page->left_out, page->n_left_out);
	al_text_add(out, "</div><aside id=head aria-live=polite hidden></aside></div>\n");
	al_page_end_section(out);
}

/* ---- what to do ---- */

static size_t count_up_to(const struct al_table *steps, double most)
{
	size_t n = 0;
	double error;

	while (n < steps->n_rows && al_table_number(steps, n, "cumulative_error", &error)
		&& error <= most)
		n++;
	return n;
}

/* Merging takes care of silent heads too. */
static const char *command(struct al_arena *arena, const struct al_audit_page *page,
	const struct al_table *steps, size_t n)
{
	bool merges = false;

	AL_TEXT(heads);
	for (size_t row = 0; row < n; row++) {
		double head = 0;
		(void)al_table_number(steps, row, "head", &head);
		al_text_addf(&heads, "%s%s:%.0f", row ? "," : "",
			al_table_text(steps, row, "module"), head);
		merges |= strcmp(al_table_text(steps, row, "advice"), "drop") != 0;
	}
	const char *line = al_format(arena, "attnledger compress %s --method %s --drop %s%s -o %s",
		page->words, merges ? "merge" : "drop", al_page_shell_word(arena, heads.data),
		merges && page->merge_needs_calibration ? " --calibration DIR" : "", "smaller/");
	return line;
}

static void add_command(struct al_text *out, const struct al_audit_page *page,
	const struct al_table *steps, size_t n, double most)
{
	AL_ARENA(arena);
	const char *line = command(&arena, page, steps, n);
	al_text_addf(out,
		"<p>%zu head%s, and no module's scores and values change by more than %g %%:</p>\n",
		n, n == 1 ? "" : "s", 100 * most);
	al_page_command(out, line);
}

/* Heads up to 1, 5 and 10 %, and all. */
static void add_commands(struct al_text *out, const struct al_audit_page *page,
	const struct al_table *steps)
{
	double levels[] = {.01, .05, .1, 0}, *last = &levels[3];
	size_t before = 0;

	(void)al_table_number(steps, steps->n_rows - 1, "cumulative_error", last);
	*last = ceil(100 * *last) / 100;
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		const size_t n = count_up_to(steps, levels[i]);
		if (n > before)
			add_command(out, page, steps, n, levels[i]);
		before = n > before ? n : before;
	}
	if (page->merge_needs_calibration && count_twins(page->redundant))
		al_text_add(out,
			"<p class=note>DIR is what attnledger calibrate wrote: positions are "
			"rotary, so that merging needs to know what heads put out.</p>\n");
}

static void add_steps(struct al_text *out, const struct al_audit_page *page)
{
	AL_ENDS(al_table_finish) struct al_table steps = {0};

	al_page_begin_section(out, "do", "What to do",
		page->redundant->n_rows
			? "Heads that their module can do without, the cheapest first. A copy is "
			  "merged: the head that stays takes over its outputs. A head that writes "
			  "almost nothing is dropped."
			: "No head can be dropped or merged at a small error. What other "
			  "changes save and cost stands below.");
	if (page->redundant->n_rows) {
		al_page_steps_table(&steps, page->redundant);
		add_commands(out, page, &steps);
		al_page_add_table(out, &(struct al_page_table){.table = &steps});
	}
	al_page_end_section(out);
}

/* ---- shared directions ---- */

static void add_shared(struct al_text *out, const struct al_audit_page *page)
{
	static const char *const columns[] = {"module", "qk_n90", "qk_independent_n90",
		"qk_gaussian_n90", "ov_n90", "ov_independent_n90", "redundancy", NULL};

	al_page_begin_section(out, "shared", "What heads share",
		"How many directions hold 90 % of what all heads of a module look at together. The "
		"mark is how many it would take if the heads were as they are but had nothing to "
		"do with each other: the further the bar stays behind it, the more they share.");
	al_page_add_bars(out,
		&(struct al_page_bars){.table = page->layers,
			.label = "module",
			.value = "qk_n90",
			.reference = "qk_independent_n90",
			.axis = "directions for 90 % of all heads' scores; the mark: of "
				"independent heads"});
	al_page_add_table(out,
		&(struct al_page_table){.table = page->layers,
			.columns = columns,
			.is_folded = true});
	al_page_end_section(out);
}

/* ---- savings ---- */

static void add_savings(struct al_text *out, const struct al_audit_page *page)
{
	static const char *const errors[] = {"qk_relative_error", "qk_mean_error",
		"ov_relative_error", NULL};
	static const char *const conversion[] = {"variant", "setting", NULL};
	const struct al_page_points points = {.table = page->conversions,
		.x = "saving",
		.x_title = "parameters saved in attention (%)",
		.y_title = "relative error of the worst module",
		.y = errors,
		.names = conversion};
	AL_ENDS(al_table_finish) struct al_table frontier = {0};

	al_page_begin_section(out, "savings", "What could be saved",
		"Every change of all modules to another form of attention, by weights alone. Right "
		"is smaller, down is truer: error 0 is the same model, error 1 has nothing of it. "
		"Numbered circles lie on the frontier.");
	al_page_add_points(out, &points);
	al_page_frontier_table(&frontier, &points);
	al_page_add_table(out, &(struct al_page_table){.table = &frontier});
	al_page_add_table(out,
		&(struct al_page_table){.table = page->conversions, .is_folded = true});
	al_page_end_section(out);
}

/* ---- pairs and tables ---- */

static void add_pairs(struct al_text *out, const struct al_page_heads *heads)
{
	al_page_begin_section(out, "pairs", "All pairs of heads",
		"A picture each module, head by head: cosines of scores above the diagonal, of "
		"values below.");
	al_page_pair_maps(out, heads);
	al_page_end_section(out);
}

static void add_tables(struct al_text *out, const struct al_audit_page *page,
	const struct al_page_heads *heads)
{
	const struct al_table *tables[] = {page->similarity, page->summary};
	AL_ENDS(al_table_finish) struct al_table map = {0};

	al_page_begin_section(out, "tables", "Tables",
		"Choose a column's title to sort by it. All digits: --format json, --tables DIR.");
	if (page->heads) {
		al_page_map_table(&map, heads);
		al_page_add_table(out,
			&(struct al_page_table){.table = &map, .is_folded = map.n_rows > 200});
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (tables[i])
			al_page_add_table(out,
				&(struct al_page_table){.table = tables[i],
					.is_folded = true,
					.hides_notes = tables[i] == page->summary});
	al_page_end_section(out);
}

static const struct al_page_term terms[] = {
	{"scores, QK", "what a head looks at: W_Q W_K^T, from which its attention is computed"},
	{"values, OV", "what a head writes: W_V W_O"},
	{"cosine",
		"how alike two heads are: 1 the same up to a factor, 0 nothing in common, -1 "
		"opposite"},
	{"copy, twin",
		"a head that attends as another does; W_O of the other takes its outputs too"},
	{"silent", "a head that writes almost nothing: without it the output hardly changes"},
	{"error",
		"the norm of what is lost, relative to the norm of what all heads do; by weights "
		"alone unless a calibration is named below"},
	{"rank",
		"how many directions a head's scores have; 90 %: how many hold 90 % of the "
		"squares"},
	{"chance",
		"what independent heads of the same shape would need: the null that sharing is "
		"measured against"},
	{"basis",
		"how far a change of basis that leaves the model as it is was used: as stored, "
		"aligned, best"},
};

/* ---- all ---- */

void al_audit_page_write(const struct al_audit_page *page, struct al_text *out)
{
	struct al_page_heads heads = {0};

	AL_ARENA(arena);
	if (page->heads)
		al_page_heads_read(&heads, &arena, page->heads, page->cosines, page->redundant);
	al_page_begin(out, &page->head);
	add_tiles(out, page);
	if (page->heads)
		add_map(out, page, &heads);
	if (page->redundant)
		add_steps(out, page);
	if (page->layers)
		add_shared(out, page);
	if (page->conversions)
		add_savings(out, page);
	if (page->heads && page->cosines)
		add_pairs(out, &heads);
	add_tables(out, page, &heads);
	al_page_glossary(out, terms, sizeof(terms) / sizeof(*terms));
	al_page_end(out, &page->head, page->command, page->summary);
}
