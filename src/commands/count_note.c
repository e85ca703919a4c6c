/* What the counts of `count` stand on. */
#include "commands/count.h"

const char *al_count_components(const struct al_count_answer *c)
{
	const char *list = "";

	for (int i = 0; i < AL_N_COMPONENTS; i++)
		if (c->options->components >> i & 1)
			list = al_format(&c->session->arena, "%s%s%s", list, *list ? ", " : "",
				al_component_names[i]);
	return list;
}

static void note_list(const struct al_count_answer *c, const char *what, const char *const *items,
	size_t n)
{
	struct al_text list;

	al_text_init(&list);
	for (size_t i = 0; i < n; i++)
		al_text_addf(&list, "%s%s", i ? ", " : "", items[i]);
	if (n > 0)
		al_table_note(c->table, "%s: %s: %s", c->request->name, what, list.data);
	al_text_finish(&list);
}

/* What the config leaves to its family; and rotary settings, activation functions and the like,
 * which change nothing in a count. */
static void note_keys(const struct al_count_answer *c)
{
	const struct al_request *q = c->request;
	struct al_arena *arena = &c->session->arena;
	const char *const *items;
	size_t n = al_family_defaults(q->family, q->model->doc, q->model->config, &q->settings,
		arena, &items);

	note_list(c, "config keys left to the family's defaults", items, n);
	n = al_family_ignored(q->family, q->model->config, arena, &items);
	note_list(c, "config keys that change nothing", items, n);
}

static void note_parts(const struct al_count_answer *c)
{
	const char *list = al_count_components(c);

	if (*list)
		al_table_note(c->table, "of the whole model only: %s", list);
	if (c->options->is_stored)
		al_table_note(c->table,
			"stored: with buffers, scales and what stands beside the model; a tied "
			"tensor once, though some files hold it twice");
}

void al_count_note(const struct al_count_answer *c)
{
	const struct al_request *q = c->request;

	if (q->family && c->explanations)
		note_keys(c);

	al_note_request(q, c->options->is_whole, c->table);
	note_parts(c);
	if (c->unknown)
		al_table_note(c->table, "scales are not counted: %s", c->unknown);
	if (c->quantisation && c->quantisation->scheme) {
		al_table_note(c->table, "stored as %s", c->quantisation->name);
		al_note_quantisation(c->quantisation, c->explanations != NULL, c->table);
	}
	if (q->family)
		al_table_note(c->table, "%s: %s", q->name,
			q->model->source ? q->model->source : q->family->source);
	else if (q->model)
		al_table_note(c->table,
			"%s: attention only, its vocabulary or other parts are not known", q->name);
}
