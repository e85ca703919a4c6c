/* Lines of what is saved, and what a framework makes of them. */
#include "ledger/saved_parts.h"

struct al_saved_entry *al_saved_add(struct al_saved_build *b, struct al_saved_entry line)
{
	struct al_saved_entries *out = b->out;

	struct al_saved_entry *added = AL_APPEND(b->arena, out->lines, out->n, out->room);
	*added = line;
	return added;
}

static mpq_srcptr number(struct al_saved_build *b, int64_t x, int64_t y)
{
	AL_EXACT(product);
	al_exact_set(product, x);
	al_exact_multiply(product, y);
	return al_exact_copy(b->arena, product);
}

/* A line of so many numbers per token, on each device. */
struct al_saved_entry *al_saved_add_tokens(struct al_saved_build *b, struct al_saved_entry line,
	int64_t width, int64_t copies)
{
	line.per = AL_PER_TOKEN;
	line.elements = line.device = number(b, width, copies);
	return al_saved_add(b, line);
}

/* ---- a framework's rules ---- */

/* Facts of one saved tensor, by enum al_saved_fact. */
struct facts {
	int64_t of[AL_N_SAVED_FACTS];
};

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	const struct facts *facts = context;
	int fact = al_find_name(reference->symbol, al_saved_fact_names, AL_N_SAVED_FACTS);

	(void)err;
	*found = fact >= 0;
	if (*found)
		al_value_set_int(out, facts->of[fact]);
	return true;
}

static bool fits(const struct al_saved_rule *rule, enum al_saved_of of, const char *activation)
{
	return rule->of == of
		&& (rule->n_activations == 0
			|| (activation
				&& al_find_name(activation, rule->activations, rule->n_activations)
					>= 0));
}

static const struct al_saved_rule *find_rule(const struct al_saved_build *b, enum al_saved_of of)
{
	const struct al_recipe *recipe = b->saving->recipe;

	for (size_t i = 0; recipe && of && i < recipe->n_saved; i++)
		if (fits(&recipe->saved[i], of, b->activation))
			return &recipe->saved[i];
	return NULL;
}

/* What the recipe's rule for such a tensor makes of the line. */
void al_saved_rule(struct al_saved_build *b, struct al_saved_entry *line, enum al_saved_of of,
	const struct al_saved_reading *by)
{
	const struct al_saved_rule *found = find_rule(b, of);
	const struct al_saving *saving = b->saving;

	if (!found || b->has_failed)
		return;
	struct facts facts = {{
		[AL_SAVED_BYTES] = saving->recipe->activation_bytes,
		[AL_SAVED_RESIDUAL] = saving->recipe->residual_bytes,
		[AL_SAVED_READERS] = by ? by->readers : 1,
		[AL_SAVED_RMS] = !b->has_norm_bias,
		[AL_SAVED_GATED] = by && by->is_gated,
		[AL_SAVED_EXPERT] = by && by->is_expert,
		[AL_SAVED_ENCODER] = b->ledger->family && b->ledger->family->is_encoder,
		[AL_SAVED_UNIT_OFFSET] = b->has_unit_offset,
		[AL_SAVED_SCORE_CAP] = b->has_score_cap,
		[AL_SAVED_LOGIT_CAP] = b->has_logit_cap,
		[AL_SAVED_DROPOUT] = b->has_dropout,
		[AL_SAVED_FROZEN] = saving->recipe->trainable != NULL,
		[AL_SAVED_SELECTIVE] = saving->is_selective,
		[AL_SAVED_CHUNKED] = saving->loss == AL_LOSS_CHUNKED,
		[AL_SAVED_FUSED] = saving->loss == AL_LOSS_FUSED,
		[AL_SAVED_COMPILED_LOSS] = saving->loss == AL_LOSS_COMPILED,
		[AL_SAVED_COMPILED] = saving->is_compiled,
		[AL_SAVED_SP] = saving->sp,
		[AL_SAVED_ADAPTER_DROPOUT] = saving->has_adapter_dropout,
	}};
	struct al_scope scope = {.lookup = look_up, .context = &facts};
	line->is_ruled = true;
	if (al_formula_whole(found->bytes, &scope, 0, &line->bytes, b->err))
		return;
	b->has_failed = true;
	al_in(b->err, "recipe %s: saved: %s", saving->recipe->name, al_saved_of_names[of]);
}

bool al_saved_has_adapter(const struct al_saved_build *b, enum al_adapted adapted)
{
	const struct al_recipe *recipe = b->saving->recipe;

	return !recipe || !recipe->trainable || !recipe->adapted
		|| (recipe->adapted >> adapted & 1);
}
