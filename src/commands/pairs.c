/* Pairs: the measurements of audit that need two modules at a time. */
#include "commands/audit_run.h"

#include "audit/across.h"
#include "audit/against.h"
#include "audit/pairs.h"
#include "formats/finite.h"

/* ---- different modules ---- */

static void show(void *progress, const char *a, const char *b, size_t done, size_t n)
{
	AL_ARENA(arena);
	al_progress_show(progress, al_format(&arena, "%s beside %s", a, b), done, n);
}

static bool measure_across(struct al_audit_run *run, struct al_error *err)
{
	const struct al_across_watch watch = {show, run->progress};

	al_table_init(&run->across, "across",
		"Pairs of heads of different modules, the most similar first");
	al_pairs_add_columns(&run->across, true);
	run->progress->whole = run->opened->checkpoint->path;
	return al_across_measure(&run->audit, run->measured, run->n_measured, &watch, &run->across,
		err);
}

/* ---- two checkpoints ---- */

static bool compare_module(struct al_audit_run *run, const struct al_audit *other,
	const struct al_attention *a, struct al_error *err)
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
		ok = al_against_add_module(&first, &second, &run->against, err);
		al_audit_module_finish(&first);
	}
	al_audit_module_finish(&second);
	return ok;
}

/* With the first checkpoint's config, if one was given: the shapes must be the same anyway. */
static bool measure_against(struct al_audit_run *run, struct al_error *err)
{
	struct al_table *table = &run->against;
	struct al_opened_checkpoint *opened = al_session_checkpoint(run->session,
		&run->options->layout, run->options->against, al_session_word(run->session, 1),
		true, err);
	struct al_audit other;
	bool ok = true;

	al_table_init(table, "against", "Each head and its counterpart");
	al_against_add_columns(table);
	if (!opened)
		return false;
	al_audit_init(&other, &opened->view, &run->audit.options);
	for (size_t i = 0; ok && i < run->n_measured; i++)
		ok = compare_module(run, &other, run->measured[i], err);
	ok = ok && al_checkpoint_note_not_finite(opened->checkpoint, table, err)
		&& al_checkpoint_check_unchanged(opened->checkpoint, err);
	al_table_note(table, "side by side with: %s", opened->checkpoint->path);
	al_audit_finish(&other);
	return ok || al_in(err, "%s", opened->checkpoint->path);
}

bool al_audit_run_pairs(struct al_audit_run *run, struct al_error *err)
{
	return (!run->options->is_across || measure_across(run, err))
		&& (!run->options->against || measure_against(run, err));
}
