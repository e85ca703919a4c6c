/* Facts about a tensor for a scheme's formulas. */
#include "ledger/quantize_facts.h"

#include "ledger/entries.h"

bool al_entry_is_tied_table(const struct al_ledger *ledger, const struct al_ledger_entry *table)
{
	const struct al_ledger_list *tensors = al_ledger_tensors(ledger);

	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *t = &tensors->items[i];
		if (t->tied_to && !t->extra && strcmp(t->tied_to, table->name) == 0)
			return true;
	}
	return false;
}

static int64_t product(const int64_t *dims, size_t n)
{
	int64_t out = 1;

	for (size_t i = 0; i < n; i++)
		out *= dims[i];
	return out;
}

/* [rows, cols]: a row is what is multiplied with an input. Variants write [in, out]. */
void al_facts_set_shape(const struct al_ledger_entry *t, const struct al_stored_tensor *stored,
	int64_t *values)
{
	const int64_t *dims = stored ? stored->dims : t->dims;
	const size_t n = stored ? stored->n_dims : t->n_dims;
	const int64_t packed = t->stored ? t->stored->tensor->packed : 1;
	const bool is_out_in = stored ? stored->stored->order == AL_ORDER_OUT_IN
				      : t->stored && t->stored->tensor->order == AL_ORDER_OUT_IN;

	if (n == 0)
		return;
	values[is_out_in ? AL_FACT_ROWS : AL_FACT_COLS] = dims[0];
	values[is_out_in ? AL_FACT_COLS : AL_FACT_ROWS] = product(dims + 1, n - 1);
	values[AL_FACT_COLS] *= packed;
}

static int64_t setting_of(struct al_ledger *ledger, const char *symbol, int64_t fallback)
{
	const struct al_setting *setting;

	return al_settings_get(&ledger->settings, symbol, &setting, NULL) && setting
			&& !setting->list && setting->value.kind == AL_VALUE_INTEGER
		? setting->value.integer
		: fallback;
}

static bool fuses(const struct al_stored_tensor *stored, enum al_role role)
{
	for (size_t i = 0; stored && i < stored->n_parts; i++)
		if (stored->parts[i].entry->role == role)
			return true;
	return false;
}

/* Which of the layers with values it is, and how many there are. */
static void set_value_layers(const struct al_ledger *ledger, const struct al_ledger_entry *t,
	int64_t *values)
{
	const struct al_ledger_list *tensors = al_ledger_tensors(ledger);

	for (size_t i = 0; i < tensors->n; i++) {
		const struct al_ledger_entry *other = &tensors->items[i];
		if (!other->module || other->extra || !other->sees_text || !other->is_matrix
			|| other->entry->role != AL_ROLE_VALUE)
			continue;
		values[AL_FACT_VALUE_LAYERS] += other->times;
		if (other->layer < t->layer)
			values[AL_FACT_VALUE_LAYER] += other->times;
	}
}

static void set_attention(struct al_facts *f, const struct al_ledger_entry *t,
	const struct al_stored_tensor *stored)
{
	const enum al_role role = t->entry->role;
	const bool has_q = fuses(stored, AL_ROLE_QUERY), has_k = fuses(stored, AL_ROLE_KEY),
		   has_v = fuses(stored, AL_ROLE_VALUE);

	f->values[AL_FACT_FUSED_QKV] = has_q && has_v;
	f->values[AL_FACT_FUSED_KV] = has_k && has_v && !has_q;
	f->values[AL_FACT_QUERY] = role == AL_ROLE_QUERY;
	f->values[AL_FACT_KEY] = role == AL_ROLE_KEY;
	f->values[AL_FACT_VALUE] = role == AL_ROLE_VALUE;
	f->values[AL_FACT_PROJECTION] = role == AL_ROLE_OUTPUT;
	if (role == AL_ROLE_VALUE && f->q->scheme->is_by_layer)
		set_value_layers(f->ledger, t, f->values);
}

void al_facts_set(struct al_facts *f, const struct al_ledger_entry *t,
	const struct al_stored_tensor *stored)
{
	const enum al_feed_forward_role role = t->stored ? t->stored->tensor->role : AL_FEED_NONE;
	const bool is_head = t->part == AL_PART_HEAD, is_embedding = t->part == AL_PART_EMBEDDING;
	const size_t n_dims = stored ? stored->n_dims : t->n_dims;
	const bool is_flat = n_dims == 2 || (t->stored && t->stored->tensor->packed > 1);
	const int64_t heads = setting_of(f->ledger, "n_heads", 1),
		      shared = setting_of(f->ledger, "n_kv_heads", 0);
	int64_t *values = f->values;

	al_facts_set_shape(t, stored, values);
	values[AL_FACT_MATRIX] = t->is_matrix;
	values[AL_FACT_ROUTER] = role == AL_FEED_ROUTER;
	values[AL_FACT_EMBEDDING] = is_embedding;
	values[AL_FACT_LINEAR] = t->is_matrix && is_flat && role != AL_FEED_ROUTER && !is_embedding;
	values[AL_FACT_TABLE] = is_embedding && al_shape_mentions(&t->entry->shape, "vocab");
	values[AL_FACT_HEAD] = is_head;
	values[AL_FACT_OUTPUT] = is_head || (is_embedding && al_entry_is_tied_table(f->ledger, t));
	values[AL_FACT_EXPERT] = t->is_expert;
	values[AL_FACT_UP] = role == AL_FEED_UP;
	values[AL_FACT_GATE] = role == AL_FEED_GATE;
	values[AL_FACT_DOWN] = role == AL_FEED_DOWN;
	values[AL_FACT_IN_LAYERS] = t->is_in_layers;
	values[AL_FACT_TEXT] = t->sees_text || t->extra;
	values[AL_FACT_LAYER] = al_most(0, t->layer);
	values[AL_FACT_LAYERS] = t->n_layers;
	values[AL_FACT_EXPERTS] = setting_of(f->ledger, "n_experts", 0);
	values[AL_FACT_GQA] = shared > 0 ? heads / shared : 1;
	if (t->module)
		set_attention(f, t, stored);
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct al_facts *f = context;
	const int fact = al_find_name(reference->symbol, al_scheme_facts, AL_N_FACTS);

	(void)err;
	*found = !reference->has_index && fact >= 0;
	if (*found)
		al_value_set_int(out, f->values[fact]);
	return true;
}

struct al_scope al_facts_scope(struct al_facts *f)
{
	f->model = al_settings_scope(&f->ledger->settings);
	f->read = al_settings_scope(&f->group->settings);
	f->read.outer = &f->model;
	return (struct al_scope){.lookup = look_up, .context = f, .outer = &f->read};
}
