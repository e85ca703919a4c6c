/* What is said of derived numbers: their derivation in a line, and what was assumed. */
#include "paper/deriving.h"

#include "scenario/scenario.h"

/* ---- the derivation in a line ---- */

static const char *count_text(struct al_arena *arena, double value)
{
	return al_exact_grouped(arena, al_format(arena, "%.0f", value));
}

/* "2 x 32 layers x 8 heads x 128", or the sum of the numbers that layers keep. */
static const char *elements_text(struct al_arena *arena, const struct al_paper_subject *s,
	double tokens)
{
	const char *text = "";
	const char *of_all = tokens > 0
		? al_format(arena, " x %s tokens", count_text(arena, tokens))
		: "";

	if (s->has_plain_cache)
		return al_format(arena, "2 x %.0f layers x %.0f heads x %.0f%s",
			s->sizes[AL_DIM_LAYERS], s->sizes[AL_DIM_KV_HEADS],
			s->sizes[AL_DIM_HEAD_DIM], of_all);
	for (size_t i = 0; i < s->n_cached; i++) {
		const struct al_paper_cached *c = &s->cached[i];
		const double kept = al_paper_kept(c, tokens, false);
		text = al_format(arena, "%s%s%s numbers%s", text, i ? " + " : "",
			count_text(arena, c->elements),
			tokens > 0 ? al_format(arena, " x %s tokens", count_text(arena, kept))
				   : "");
	}
	return s->n_cached > 1 ? al_format(arena, "(%s)", text) : text;
}

static const char *cache_text(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	const struct al_paper_reading *r = &d->fit.reading;
	const char *each = al_format(d->arena, "%s x %g B",
		elements_text(d->arena, cell->subject, al_paper_tokens_of(cell, r)),
		al_paper_bytes_of(cell, r));

	return cell->batch > 1
		? al_format(d->arena, "%s x %s sequences", each, count_text(d->arena, cell->batch))
		: each;
}

const char *al_deriving_text(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	const struct al_paper_subject *s = cell->subject;
	struct al_arena *arena = d->arena;
	const double bytes = al_paper_bytes_of(cell, &d->fit.reading);
	const char *unit = cell->unit ? cell->unit : "";
	const char *power = cell->scale > 1 ? al_format(arena, " x 10^%.0f", log10(cell->scale))
					    : "";
	const char *result = al_format(arena, "%.*f%s%s%s", cell->digits + 1, cell->right, power,
		*unit ? " " : "", unit);

	switch (cell->meaning) {
	case AL_MEANS_CACHE:
		return al_format(arena, "%s = %s", cache_text(d, cell), result);
	case AL_MEANS_CACHE_OF_TOKEN:
		return al_format(arena, "%s%s = %s", elements_text(arena, s, 0),
			bytes > 0 ? al_format(arena, " x %g B", bytes) : "", result);
	case AL_MEANS_WEIGHTS:
		return al_format(arena, "%s parameters x %g B = %s",
			count_text(arena, s->totals[AL_TOTAL_PARAMETERS]), bytes, result);
	case AL_MEANS_TOTAL:
		return al_format(arena, "%s has %s", s->title,
			count_text(arena, al_paper_total_of(cell, &d->fit.reading)));
	default:
		return al_format(arena, "%s has %.0f", s->title, cell->right);
	}
}

/* ---- what is said of a cell ---- */

/* Do weights follow from the parameters that the row prints? */
static bool is_of_rounded(const struct al_deriving *d, const struct al_paper_cell *cell)
{
	for (size_t i = 0; i < d->sheet->n; i++) {
		const struct al_paper_cell *other = &d->sheet->cells[i];
		if (other->row == cell->row && other->meaning == AL_MEANS_TOTAL && other->holds
			&& fabs(cell->value - cell->right)
				<= cell->half + cell->right * other->half / other->value)
			return true;
	}
	return false;
}

const struct al_paper_cause *al_deriving_convention(const struct al_deriving *d,
	const struct al_paper_cell *cell)
{
	static const struct al_paper_cause rounded = {"rounded",
						   "follows from the rounded parameters", true},
					   states = {"states", "without recurrent states", true},
					   window = {"window",
						   "as if layers with a window kept all tokens",
						   true};

	if (!cell->holds)
		return cell->meaning == AL_MEANS_WEIGHTS && is_of_rounded(d, cell) ? &rounded
										   : NULL;
	return cell->has_no_states && cell->subject->state_bytes > 0 ? &states
		: cell->is_whole				     ? &window
								     : NULL;
}

struct al_paper_cause al_deriving_cause(const struct al_deriving *d,
	const struct al_paper_cell *cell)
{
	const struct al_paper_suspect suspect = {.printed = cell->printed,
		.value = cell->value,
		.right = cell->right,
		.half = cell->half,
		.digits = cell->digits,
		.unit = cell->unit,
		.is_of_model = cell->meaning == AL_MEANS_TOTAL || cell->meaning == AL_MEANS_WEIGHTS,
		.is_unit_known = d->options->gb != AL_GB_ANY,
		.is_bytes = cell->meaning >= AL_MEANS_WEIGHTS,
		.is_of_cache = cell->meaning >= AL_MEANS_CACHE,
		.subject = cell->subject};

	return al_paper_find_cause(d->arena, &suspect);
}

void al_deriving_add(const struct al_deriving *d, const struct al_paper_cell *cell,
	enum al_verdict verdict, const struct al_paper_cause *cause)
{
	const bool is_wrong = verdict == AL_INCONSISTENT;
	const char *instead = al_paper_instead(d->arena, cell->printed, cell->right, cell->digits);
	const bool tells_instead = is_wrong && (!cause->name || strcmp(cause->name, "digit") != 0);

	al_paper_findings_add(d->out,
		(struct al_paper_finding){.line = cell->line,
			.printed = cell->printed,
			.expected = cell->meaning == AL_MEANS_SIZE
				? al_paper_expected(d->arena, cell->right, cell->digits)
				: al_format(d->arena, "%.*f", cell->digits + 1, cell->right),
			.verdict = al_verdict_names[verdict],
			.cause = cause->name,
			.derivation = verdict == AL_REPRODUCED || cell->holds
				? NULL
				: al_deriving_text(d, cell),
			.instead = is_wrong ? instead : NULL,
			.note = al_format(d->arena, "%s%s%s%s", is_wrong ? "erratum? " : "",
				cause->text ? cause->text : "",
				tells_instead && cause->text ? "; " : "",
				tells_instead ? al_format(d->arena, "write %s", instead) : "")});
	d->counts->verdicts[verdict]++;
	d->counts->numbers++;
}

void al_deriving_add_undecided(const struct al_deriving *d, const struct al_paper_cell *cell,
	const struct al_paper_cause *cause)
{
	const char *text = al_format(d->arena,
		"can't be decided: the model as it is would give %.*f%s%s", cell->digits + 1,
		cell->right, cause->text ? "; " : "", cause->text ? cause->text : "");

	al_deriving_add(d, cell, AL_UNDERIVABLE,
		&(struct al_paper_cause){cause->name, text, false});
}

/* ---- what was assumed ---- */

static const char *list_subjects(const struct al_deriving *d)
{
	enum { MOST = 3 };
	const struct al_paper_subject *seen[MOST];
	const char *text = "", *from = d->cells[0]->subject->from;
	size_t n = 0;
	bool has_one_origin = true, has_more = false;

	for (size_t i = 1; i < d->n; i++)
		has_one_origin &= strcmp(d->cells[i]->subject->from, from) == 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct al_paper_subject *s = d->cells[i]->subject;
		bool is_new = true;
		for (size_t k = 0; k < n; k++)
			is_new = is_new && strcmp(seen[k]->title, s->title) != 0;
		has_more |= is_new && n == MOST;
		if (!is_new || n == MOST)
			continue;
		seen[n++] = s;
		text = al_format(d->arena, "%s%s%s%s%s", text, *text ? ", " : "", s->title,
			has_one_origin ? "" : ": ", has_one_origin ? "" : s->from);
	}
	return al_format(d->arena, "%s%s%s%s", text, has_more ? " and others" : "",
		has_one_origin ? ": " : "", has_one_origin ? from : "");
}

/* Facts that cells don't state are assumed; the others say where they are from. */
static const char *list_assumptions(const struct al_deriving *d)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB"};
	const struct al_paper_cell *first = d->cells[0];
	const struct al_paper_reading *r = &d->fit.reading;
	const bool has_tokens = first->meaning == AL_MEANS_CACHE;
	const bool has_bytes = first->meaning >= AL_MEANS_WEIGHTS
		&& al_paper_bytes_of(first, r) > 0;
	AL_TEXT(out);

	if (has_tokens && first->tokens > 0)
		al_text_addf(&out, "; context: %s%s", first->tokens_from,
			r->k == AL_K_IS_1024 ? "" : ", 8K is 8,000");
	else if (has_tokens)
		al_text_addf(&out, "; context %s: assumed", count_text(d->arena, r->tokens));
	if (has_tokens && first->batch == 0)
		al_text_add(&out, "; batch 1: assumed");
	if (has_bytes && first->bytes > 0)
		al_text_addf(&out, "; %g bytes a number: %s", first->bytes, first->bytes_from);
	else if (has_bytes)
		al_text_addf(&out, "; %g bits a number: assumed", 8 * r->bytes);
	const int unit = first->unit ? al_find_name(first->unit, units, 4) : -1;
	if (has_bytes && unit >= 0)
		al_text_addf(&out, "; %s: %s^%d bytes%s", first->unit, r->is_binary ? "2" : "10",
			(unit + 1) * (r->is_binary ? 10 : 3), d->guessed ? ", assumed" : "");
	if (first->meaning == AL_MEANS_TOTAL && r->total != AL_TOTAL_PARAMETERS)
		al_text_add(&out,
			r->total == AL_TOTAL_NON_EMBEDDING
				? "; parameters without embedding and head: assumed"
				: "; parameters without the embedding: assumed");
	if (first->meaning == AL_MEANS_TOTAL && first->subject->is_of_row)
		al_text_add(&out,
			r->is_gated ? "; matrices alone, gated feed-forward layers"
				    : "; matrices alone");
	return al_strdup(d->arena, out.data);
}

void al_deriving_note(const struct al_deriving *d)
{
	static const char *const names[] = {[AL_MEANS_SIZE] = "sizes",
		[AL_MEANS_TOTAL] = "parameters",
		[AL_MEANS_WEIGHTS] = "weights",
		[AL_MEANS_CACHE] = "KV cache",
		[AL_MEANS_CACHE_OF_TOKEN] = "KV cache of a token"};

	al_table_note(d->notes, "%s: %s of %s%s",
		al_paper_place(d->paper, d->arena, d->cells[0]->line), names[d->cells[0]->meaning],
		list_subjects(d), list_assumptions(d));
}
