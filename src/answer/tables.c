/* Which tables of an answer are shown: --only; and as CSV, which is one table a file. */
#include "answer/session.h"

#include "base/output.h"

/* Each table's id once. */
static size_t list_ids(const struct al_session *session, struct al_arena *arena, const char ***out)
{
	const char **ids = al_new_array(arena, const char *, session->n_tables);
	size_t n = 0;

	for (size_t i = 0; i < session->n_tables; i++)
		if (al_find_name(session->tables[i]->id, ids, n) < 0)
			ids[n++] = session->tables[i]->id;
	*out = ids;
	return n;
}

/* ---- --only ---- */

static void keep(struct al_session *session, const char *const *names, size_t n)
{
	size_t n_kept = 0;

	for (size_t i = 0; i < session->n_tables; i++)
		if (al_find_name(session->tables[i]->id, names, n) >= 0)
			session->tables[n_kept++] = session->tables[i];
		else
			al_table_finish(session->tables[i]);
	session->n_tables = n_kept;
}

bool al_session_keep_tables(struct al_session *session, struct al_error *err)
{
	const char *asked = session->output->only, **ids, **names = NULL;
	size_t n = 0, room = 0;

	AL_ARENA(arena);
	const size_t n_ids = list_ids(session, &arena, &ids);
	char *rest = al_strdup(&arena, asked);
	for (char *name = strtok_r(rest, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (al_find_name(name, ids, n_ids) < 0)
			return al_fail_unknown(err, "table", name, ids, n_ids);
		*AL_APPEND(&arena, names, n, room) = name;
	}
	if (n == 0)
		return al_fail(err, AL_EINPUT, "--only: name a table");
	keep(session, names, n);
	return true;
}

/* ---- CSV ---- */

static bool is_folder(const char *file)
{
	const char *slash = strrchr(file, '/');

	return !al_output_is_direct(file)
		&& (al_ends_with(file, "/") || !strchr(slash ? slash : file, '.'));
}

/* FOLDER/count.csv */
static void add_files(struct al_session *session, const char *folder)
{
	for (size_t i = 0; i < session->n_tables; i++) {
		const struct al_table *table = session->tables[i];
		al_csv_add(table, true, al_files_add(&session->files, folder, table->id, "csv"));
	}
	session->prints_nothing = true;
}

bool al_session_split_csv(struct al_session *session, struct al_error *err)
{
	const char *file = session->output->file, **ids;

	if (session->rendered.data || session->prints_nothing)
		return true;
	if (file && is_folder(file))
		add_files(session, file);
	if (session->prints_nothing || session->n_tables < 2)
		return true;
	AL_ARENA(arena);
	const size_t n = list_ids(session, &arena, &ids);
	const char *names = "";
	for (size_t i = 0; i < n; i++)
		names = al_join(&arena, names, ids[i]);
	return al_fail(err, AL_EINPUT,
		"a CSV file can hold only one of these %zu tables (%s): use --only NAME, or -f csv "
		"-o FOLDER/",
		session->n_tables, names);
}
