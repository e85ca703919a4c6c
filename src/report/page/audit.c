/* The page of an audit, from the verdict to the tables. */
#include "report/page/audit.h"

/* ---- heads ---- */

static const char *map_text(const struct al_page_heads *heads)
{
	if (!heads->has_costs)
		return heads->is_on_tokens
			? "Each square is a head. The darker, the more it is like its nearest head "
			  "in the module, in its logits and in its outputs on text."
			: "Each square is a head. The darker, the more it is like its nearest head "
			  "in the module, in its scores and in its values: the smaller of both "
			  "cosines.";
	if (heads->is_on_tokens)
		return "Each square is a head. Its color is what it attends to most on text, where "
		       "that stands out among all heads.";
	return "Each square is a head. The darker, the less its layer's output changes without it, "
	       "compared with an average head of the layer.";
}

static void add_map(struct al_text *out, const struct al_audit_page *page,
	const struct al_page_heads *heads)
{
	AL_TEXT(text);

	al_text_addf(&text, "%s Choose a square, or move with the arrow keys.", map_text(heads));
	al_page_begin_section(out, "heads",
		!heads->has_costs	      ? "Which heads are alike"
			: heads->is_on_tokens ? "What each head does on text"
					      : "What each head is worth on text",
		text.data);
	al_text_add(out, "<div class=two><div>");
	al_page_head_map(out, heads, page->left_out, page->n_left_out);
	al_text_add(out, "</div><aside id=head aria-live=polite hidden></aside></div>\n");
	if (page->losses)
		al_page_add_table(out, &(struct al_page_table){.table = page->losses});
	if (page->drop)
		al_page_add_table(out,
			&(struct al_page_table){.table = page->drop, .is_folded = true});
	al_page_end_section(out);
}

/* ---- what to do ---- */

/* The placeholder of a folder in the commands. */
static void note_placeholder(struct al_text *out, const struct al_audit_page *page)
{
	if (strstr(page->advice[page->n_advice - 1].command, " --calibration DIR "))
		al_text_add(out,
			"<p class=note>DIR is the folder that attnledger calibrate wrote: "
			"positions are rotary, so merging needs the heads' recorded "
			"outputs.</p>\n");
}

static void add_steps(struct al_text *out, const struct al_audit_page *page)
{
	AL_ENDS(al_table_finish) struct al_table steps = {0};

	note_placeholder(out, page);
	al_page_steps_table(&steps, page->redundant);
	al_page_add_table(out, &(struct al_page_table){.table = &steps});
}

static void add_advice(struct al_text *out, const struct al_audit_page *page)
{
	al_page_begin_section(out, "do", "What to do",
		page->has_steps ? "Removable heads, the cheapest first. A copy is merged: the "
				  "head that stays takes over its outputs. A head that writes "
				  "almost nothing is dropped."
			: page->n_advice > 0
			? "What loses least."
			: "No head can be dropped or merged at a small error.");
	for (size_t i = 0; i < page->n_advice; i++) {
		al_text_add(out, "<p>");
		al_page_add_claim(out, page->advice[i].text);
		al_text_add(out, "</p>\n");
		al_page_command(out, page->advice[i].command);
	}
	if (page->has_steps)
		add_steps(out, page);
	al_page_end_section(out);
}

/* ---- shared directions ---- */

static void add_shared(struct al_text *out, const struct al_audit_page *page)
{
	static const char *const columns[] = {"module", "qk_n90", "qk_independent_n90",
		"qk_gaussian_n90", "ov_n90", "ov_independent_n90", "redundancy", NULL};

	al_page_begin_section(out, "shared", "What heads share",
		"Bar: dimensions the heads use together. Mark: what unrelated heads would use. The "
		"gap is what they share.");
	al_page_add_bars(out,
		&(struct al_page_bars){.table = page->layers,
			.label = "module",
			.value = "qk_n90",
			.reference = "qk_independent_n90",
			.axis = "dimensions for 90 % of all heads' scores; mark: unrelated heads"});
	al_page_add_table(out,
		&(struct al_page_table){.table = page->layers,
			.columns = columns,
			.is_folded = true});
	al_page_end_section(out);
}

/* ---- savings ---- */

/* By errors, or where conversions were measured by their KL divergence. */
static void add_savings(struct al_text *out, const struct al_audit_page *page)
{
	static const char *const errors[] = {"qk_relative_error", "qk_mean_error",
		"ov_relative_error", NULL};
	static const char *const conversion[] = {"variant", "setting", NULL};
	static const char *const divergence[] = {"kl", NULL},
				 *const measured[] = {"method", "setting", NULL};
	const struct al_page_points points = page->frontier
		? (struct al_page_points){.table = page->frontier,
			.x = "cache_saving",
			.x_title = "cache saved (%)",
			.y_title = "KL divergence (nats per token)",
			.y = divergence,
			.names = measured}
		: (struct al_page_points){.table = page->conversions,
			.x = "saving",
			.x_title = "parameters saved in attention (%)",
			.y_title = "relative error of the worst layer",
			.y = errors,
			.names = conversion};
	AL_ENDS(al_table_finish) struct al_table best = {0};

	AL_TEXT(text);
	al_text_addf(&text,
		"Every conversion of all layers%s. Further right saves more; further down is "
		"closer to "
		"the original (0 = identical%s). Numbered circles are on the frontier.",
		page->frontier		   ? ", measured on text"
			: page->has_inputs ? " to another form of attention, judged by weights as "
					     "the recorded inputs use "
					     "them"
					   : " to another form of attention, judged from weights",
		page->frontier ? "" : ", 1 = nothing kept");
	al_page_begin_section(out, "savings", "What could be saved", text.data);
	al_page_add_points(out, &points);
	al_page_frontier_table(&best, &points);
	al_page_add_table(out, &(struct al_page_table){.table = &best});
	if (page->frontier)
		al_page_add_table(out,
			&(struct al_page_table){.table = page->frontier, .is_folded = true});
	if (page->conversions)
		al_page_add_table(out,
			&(struct al_page_table){.table = page->conversions, .is_folded = true});
	al_page_end_section(out);
}

/* ---- pairs and tables ---- */

static void add_pairs(struct al_text *out, const struct al_page_heads *heads)
{
	al_page_begin_section(out, "pairs", "All pairs of heads",
		heads->is_on_tokens
			? "A picture each module, head by head: on text the correlation of logits "
			  "above the diagonal, linear CKA of outputs below."
			: "A picture each module, head by head: cosines of scores above the "
			  "diagonal, of values below.");
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
		al_page_map_table(&map, heads, page->drop);
		al_page_add_table(out,
			&(struct al_page_table){.table = &map, .is_folded = map.n_rows > 200});
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (tables[i])
			al_page_add_table(out,
				&(struct al_page_table){.table = tables[i],
					.is_folded = true,
					.hides_notes = tables[i] == page->summary});
	for (size_t i = 0; i < page->n_others; i++)
		al_page_add_table(out,
			&(struct al_page_table){.table = page->others[i], .is_folded = true});
	al_page_end_section(out);
}

static const struct al_page_term terms[] = {
	{"scores, QK", "W_Q W_K^T, from which a head's attention is computed"},
	{"values, OV", "W_V W_O: what a head writes of the tokens that it attends to"},
	{"cosine",
		"how alike two heads are: 1 the same up to a factor, 0 nothing in common, -1 "
		"opposite"},
	{"logits, outputs",
		"what heads do on text: the correlation of the scores that the softmax gets, each "
		"query's mean taken away, and linear CKA of outputs, 1 where one is the other "
		"turned and scaled"},
	{"copy, twin",
		"a head that attends as another does; W_O of the other takes its outputs too"},
	{"silent", "a head that writes almost nothing: without it the output hardly changes"},
	{"error",
		"the norm of what is lost, relative to the norm of the whole; judged from weights "
		"unless a calibration is named below"},
	{"rank",
		"how many directions a head's scores have; 90 %: how many hold 90 % of the "
		"squares"},
	{"unrelated heads",
		"random heads with the same spectra: the null that sharing is compared with"},
	{"basis",
		"which of the equivalent bases the heads were compared in: as stored, aligned, or "
		"the best one"},
};

/* ---- all ---- */

void al_audit_page_write(const struct al_audit_page *page, struct al_text *out)
{
	struct al_page_heads heads = {0};

	AL_ARENA(arena);
	if (page->heads)
		al_page_heads_read(&heads, &arena, page->heads, page->cosines, page->redundant,
			page->drop, &page->doings);
	al_page_begin(out, &page->head);
	if (page->n_tiles > 0)
		al_page_tiles(out, page->tiles, page->n_tiles);
	if (page->heads && (page->cosines || heads.has_costs))
		add_map(out, page, &heads);
	if (page->redundant || page->n_advice > 0)
		add_advice(out, page);
	if (page->layers)
		add_shared(out, page);
	if (page->conversions || page->frontier)
		add_savings(out, page);
	if (page->heads && page->cosines)
		add_pairs(out, &heads);
	add_tables(out, page, &heads);
	al_page_glossary(out, terms, sizeof(terms) / sizeof(*terms));
	al_page_end(out, page->command, page->summary);
}
