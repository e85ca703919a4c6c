/* Pairs: the measurements of audit that need two modules at a time. */
#include "commands/pairs.h"

#include <string.h>

#include "audit/across.h"
#include "audit/against.h"
#include "formats/finite.h"
#include "commands/progress.h"

/* ---- different modules ---- */

static void show(void *progress, const char *a, const char *b, size_t done, size_t n)
{
	struct al_arena arena;

	al_arena_init(&arena);
	al_progress_show(progress, al_format(&arena, "%s beside %s", a, b), done, n);
	al_arena_finish(&arena);
}

bool al_pairs_across(const struct al_measured_modules *pairs, struct al_table *table,
	struct al_error *err)
{
	struct al_progress progress;
	const struct al_across_watch watch = {show, &progress};

	al_table_init(table, "across",
		"Pairs of heads of different modules, the most similar first");
	al_across_add_columns(table);
	al_progress_init(&progress, pairs->session, pairs->audit->view->checkpoint->path);
	bool ok = al_across_measure(pairs->audit, pairs->modules, pairs->n_modules, &watch, table,
		err);
	al_progress_finish(&progress);
	return ok;
}

/* ---- two checkpoints ---- */

static const struct al_attention *find_module(const struct al_model_view *view, const char *name)
{
	for (size_t i = 0; i < view->n_modules; i++)
		if (strcmp(view->modules[i].name, name) == 0)
			return &view->modules[i];
	return NULL;
}

static bool compare_module(const struct al_measured_modules *pairs, const struct al_audit *other,
	const struct al_attention *a, struct al_table *table, struct al_error *err)
{
	const struct al_attention *b = find_module(other->view, a->name);
	struct al_audit_module first, second;

	if (!b)
		return al_fail(err, AL_EINPUT, "no module %s", a->name);
	if (!al_against_check(a, b, err) || !al_audit_module_init(&second, other, b, err))
		return false;
	bool ok = al_audit_module_init(&first, pairs->audit, a, err);
	if (ok) {
		ok = al_against_add_module(&first, &second, table, err);
		al_audit_module_finish(&first);
	}
	al_audit_module_finish(&second);
	return ok;
}

/* With the first checkpoint's config, if one was given: the shapes must be the same anyway. */
bool al_pairs_against(const struct al_measured_modules *pairs, const char *path,
	struct al_table *table, struct al_error *err)
{
	struct al_session *session = pairs->session;
	struct al_opened_checkpoint opened;
	struct al_audit other;
	bool ok = true;

	al_table_init(table, "against", "Each head and its counterpart");
	al_against_add_columns(table);
	if (!al_opened_checkpoint_init(&opened, session, pairs->layout, path,
		    al_session_word(session, 1), true, err))
		return false;
	al_audit_init(&other, &opened.view, &pairs->audit->options);
	for (size_t i = 0; ok && i < pairs->n_modules; i++)
		ok = compare_module(pairs, &other, pairs->modules[i], table, err);
	ok = ok && al_checkpoint_note_not_finite(&opened.checkpoint, NULL, table, err)
		&& al_checkpoint_check_unchanged(&opened.checkpoint, err);
	al_table_note(table, "side by side with: %s", opened.checkpoint.path);
	if (!ok)
		al_in(err, "%s", opened.checkpoint.path);
	al_audit_finish(&other);
	al_opened_checkpoint_finish(&opened);
	return ok;
}
