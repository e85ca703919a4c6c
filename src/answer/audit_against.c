/* audit --against: each head of a checkpoint beside the head of another one that matches it. */
#include "answer/audit_run.h"

#include "audit/against.h"
#include "report/claim.h"

/* ---- measuring ---- */

static bool compare_module(const struct al_audit_run *run, const struct al_audit *other,
	const struct al_attention *a, struct al_table *table, struct al_error *err)
{
	const struct al_attention *b = AL_FIND(other->view->modules, other->view->n_modules,
		a->name);
	struct al_audit_module first, second;

	if (!b)
		return al_fail(err, AL_EINPUT, "no module %s", a->name);
	if (!al_against_check(a, b, err) || !al_audit_module_init(&second, other, b, err))
		return false;
	bool ok = al_audit_module_init(&first, &run->audit, a, err);
	if (ok) {
		ok = al_against_add_module(&first, &second, table, err);
		al_audit_module_finish(&first);
	}
	al_audit_module_finish(&second);
	return ok;
}

bool al_audit_against_fill(const struct al_audit_run *run, const struct al_audit *other,
	struct al_table *table, struct al_error *err)
{
	al_against_add_columns(table);
	for (size_t i = 0; i < run->n_measured; i++)
		if (!compare_module(run, other, run->measured[i], table, err))
			return false;
	return true;
}

/* With the first checkpoint's config, if one was given: the shapes must be the same anyway. */
bool al_audit_against(struct al_audit_run *run, struct al_error *err)
{
	struct al_table *table = &run->against;
	struct al_opened_checkpoint *opened = al_session_checkpoint(run->session,
		&run->options->layout, run->options->against, al_session_word(run->session, 1),
		true, err);
	struct al_audit other;

	al_table_init(table, "against",
		"Each head compared with the head of the other checkpoint that matches it");
	if (!opened)
		return false;
	al_audit_init(&other, &opened->view, &run->audit.options);
	const bool ok = al_audit_against_fill(run, &other, table, err)
		&& al_checkpoint_note_not_finite(opened->checkpoint, table, err)
		&& al_checkpoint_check_unchanged(opened->checkpoint, err);
	al_table_note(table, "compared with: %s", opened->checkpoint->path);
	al_table_note(table,
		"match: heads of a layer are paired so that the cosines of all pairs add up to the "
		"most; heads that share a key and a value keep together");
	al_table_note(table,
		"difference: norm of the difference of both forms, relative to the norm");
	al_audit_finish(&other);
	return ok || al_in(err, "%s", opened->checkpoint->path);
}

/* ---- the sentence ---- */

/* What two forms differ by where one is a copy: relative, from products in double precision. */
static const double ROUNDING = 1e-6;

/* Pairs below this cosine have nothing in common that is worth a comparison. */
static const double RELATED = 0.5;

static const struct column_names {
	const char *title, *cosine, *difference;
} names[AL_N_FORMS] = {{"QK", "qk_cosine", "qk_difference"}, {"OV", "ov_cosine", "ov_difference"}};

/* A number of the table: in which row, of which form. */
struct place {
	double value;
	size_t row;
	const struct column_names *form;
};

struct moves {
	size_t n_moved, n_elsewhere; /* heads */
	struct place farthest, nearest; /* the largest difference, the largest cosine */
};

static void keep_larger(struct place *best, double value, size_t row,
	const struct column_names *form)
{
	if (!best->form || value > best->value)
		*best = (struct place){value, row, form};
}

/* Has the head's form moved? */
static bool see_form(struct moves *moves, const struct al_table *table, size_t row,
	const struct column_names *form)
{
	double cosine, difference = 0;

	if (al_table_number(table, row, form->cosine, &cosine))
		keep_larger(&moves->nearest, cosine, row, form);
	if (al_table_number(table, row, form->difference, &difference))
		keep_larger(&moves->farthest, difference, row, form);
	return difference > ROUNDING;
}

static struct moves find_moves(const struct al_table *table)
{
	struct moves moves = {0};

	for (size_t row = 0; row < table->n_rows; row++) {
		bool has_moved = false;
		double head, match;
		for (int form = 0; form < AL_N_FORMS; form++)
			has_moved |= see_form(&moves, table, row, &names[form]);
		moves.n_moved += has_moved;
		if (al_table_number(table, row, "head", &head)
			&& al_table_number(table, row, "match", &match))
			moves.n_elsewhere += head != match;
	}
	return moves;
}

/* "; 12 are at another place in their layer" */
static const char *say_elsewhere(struct al_arena *arena, size_t n)
{
	return n == 0 ? ""
		      : al_format(arena, "; %s %s at another place in %s layer",
			      al_claim_count(arena, "elsewhere", (int64_t)n), n == 1 ? "is" : "are",
			      n == 1 ? "its" : "their");
}

static const char *say_farthest(struct al_arena *arena, const struct al_table *table,
	const struct moves *moves)
{
	const struct place *p = &moves->farthest;

	return al_format(arena,
		"%s of %s moved%s. Head %s of %s moved most: its %s form by %s of its norm (cosine "
		"%s).",
		al_claim_count(arena, "moved", (int64_t)moves->n_moved),
		al_claim_counted(arena, table->n_rows, "head"),
		say_elsewhere(arena, moves->n_elsewhere),
		al_claim_cell(arena, table, p->row, "head"),
		al_claim_cell(arena, table, p->row, "module"), p->form->title,
		al_claim_share(arena, table, p->row, p->form->difference),
		al_claim_cell(arena, table, p->row, p->form->cosine));
}

static const char *say_unrelated(struct al_arena *arena, const struct al_table *table,
	const struct place *p)
{
	return al_format(arena,
		"The heads are unrelated: the largest cosine of a head with its match is %s (%s of "
		"head %s of %s, matched with head %s).",
		al_claim_cell(arena, table, p->row, p->form->cosine), p->form->title,
		al_claim_cell(arena, table, p->row, "head"),
		al_claim_cell(arena, table, p->row, "module"),
		al_claim_cell(arena, table, p->row, "match"));
}

const char *al_audit_against_say(const struct al_audit_run *run)
{
	const struct al_table *table = &run->against;
	struct al_arena *arena = &run->session->arena;
	const struct moves moves = find_moves(table);

	if (moves.n_moved == 0)
		return al_format(arena, "All %s are the same in both checkpoints%s.",
			al_claim_counted(arena, table->n_rows, "head"),
			say_elsewhere(arena, moves.n_elsewhere));
	return moves.nearest.value < RELATED ? say_unrelated(arena, table, &moves.nearest)
					     : say_farthest(arena, table, &moves);
}
