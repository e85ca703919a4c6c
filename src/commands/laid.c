/* A checkpoint with a family laid over it, as the commands on checkpoints open it. */
#include "commands/laid.h"

#include "base/number.h"
#include "commands/checkpoint.h"

/* "12" or "32:8" */
static bool parse_heads(const char *text, struct al_view_options *options, struct al_error *err)
{
	const char *end = text + al_read_digits(text, &options->n_heads);
	bool ok = options->n_heads > 0 && options->n_heads < 1 << 20;

	if (ok && *end == ':') {
		end++;
		end += al_read_digits(end, &options->n_kv_heads);
		ok = options->n_kv_heads > 0 && options->n_heads % options->n_kv_heads == 0;
	}
	return (ok && *end == '\0')
		|| al_fail(err, AL_EINPUT, "--heads %s: expected H or H:KV, KV dividing H", text);
}

const struct option_row layout_rows[] = {
	OPTION_TEXT(struct layout_options, heads, "heads", "H[:KV]",
		"query heads and key/value heads, where no config says"),
	OPTION_TEXT(struct layout_options, layout, "layout", "FILE",
		"a family file that says how tensors are named"),
	OPTION_END,
};

const struct option_row module_rows[] = {
	OPTION_TEXT(struct layout_options, modules, "modules", "SELECTION",
		"only these: layers.0-5,encoder.*.self"),
	OPTION_END,
};

bool laid_open(struct laid *laid, struct session *session, const struct layout_options *o,
	const char *path, const char *config, bool modules, struct al_error *err)
{
	struct al_view_options options = {.config = config, .layout = o->layout};

	if ((o->heads && !parse_heads(o->heads, &options, err))
		|| !al_checkpoint_open(&laid->checkpoint, path, err))
		return false;
	bool ok = modules ? al_model_view_open(&laid->view, session->catalog, &laid->checkpoint,
			  &options, err)
			  : al_model_view_lay(&laid->view, session->catalog, &laid->checkpoint,
				  &options, err);
	if (!ok)
		al_checkpoint_close(&laid->checkpoint);
	return ok;
}

void laid_close(struct laid *laid)
{
	al_model_view_close(&laid->view);
	al_checkpoint_close(&laid->checkpoint);
}

void laid_note(const struct laid *laid, struct al_table *table)
{
	checkpoint_note(table, &laid->checkpoint);
	al_table_note(table, "family: %s, by %s", laid->view.family->name,
		laid->view.has_config ? laid->view.config_path : "names and shapes");
	for (size_t i = 0; i < laid->view.n_notes; i++)
		al_table_note(table, "%s", laid->view.notes[i]);
}
