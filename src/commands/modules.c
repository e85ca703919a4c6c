/* Attention modules and the layout of their heads. */
#include "commands/modules.h"

static void add_columns(struct al_table *table)
{
	static const struct al_column columns[] = {
		{.key = "module", .title = "Module", .is_key = true},
		{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL},
		{.key = "attention", .title = "Attention"},
		{.key = "variant", .title = "Variant"},
		{.key = "n_heads", .title = "Heads", .digits = AL_DIGITS_ALL},
		{.key = "n_kv_heads", .title = "KV heads", .digits = AL_DIGITS_ALL},
		{.key = "d_head", .title = "Width", .digits = AL_DIGITS_ALL},
		{.key = "d_value", .title = "Of values", .digits = AL_DIGITS_ALL},
		{.key = "positions", .title = "Positions"},
	};

	al_table_add_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

static const char *positions_of(const struct al_attention *a)
{
	if (!a->is_rotary)
		return "not rotary";
	return a->rotary_pairs == AL_PAIRS_HALVES ? "rotary, halves" : "rotary, interleaved";
}

static void add_module(struct al_table *table, const struct al_attention *a)
{
	struct al_cell *cell = al_table_add_row(table);

	al_cell_set_text(table, cell++, a->name);
	al_cell_set_int(table, cell++, a->layer);
	al_cell_set_text(table, cell++, a->is_cross ? "cross" : "self");
	al_cell_set_text(table, cell++, a->variant->name);
	al_cell_set_int(table, cell++, a->n_heads);
	al_cell_set_int(table, cell++, a->n_kv_heads);
	al_cell_set_int(table, cell++, a->d_head);
	al_cell_set_int(table, cell++, a->d_value);
	al_cell_set_text(table, cell, positions_of(a));
}

static void list(struct al_session *session, const struct al_model_view *view)
{
	struct al_table *table = al_session_table(session, "modules", "Attention modules");

	add_columns(table);
	for (size_t i = 0; i < view->n_modules; i++)
		add_module(table, &view->modules[i]);
	al_table_note(table, "family: %s, %s", view->family->name,
		al_recognition_text(table, view));
	for (size_t i = 0; i < view->n_notes; i++)
		al_table_note(table, "%s", view->notes[i]);
}

bool al_modules_list(struct al_session *session, const struct al_layout_options *layout,
	struct al_checkpoint *checkpoint, struct al_table *table, struct al_error *err)
{
	const char *config = al_session_word(session, 1);
	bool is_asked = layout->heads || layout->layout || config || !table;
	struct al_error reason;
	struct al_model_view view;

	if (al_checkpoint_view(&view, session, layout, checkpoint, config, true,
		    is_asked ? err : &reason)) {
		list(session, &view);
		al_model_view_close(&view);
		return true;
	}
	if (!is_asked)
		al_table_note(table, "attention modules could not be read: %s", reason.message);
	return !is_asked;
}
