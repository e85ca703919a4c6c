/* Training memory of one tensor by a recipe. */
#include "ledger/states.h"

const char *const al_memory_state_names[AL_N_STATES] = {
	"weights",
	"gradients",
	"optimizer",
	"activations",
	"working",
	"cache",
	"states",
	"draft_weights",
	"draft_cache",
	"overhead",
};

/* Printed names. */
static const char *const titles[AL_N_STATES] = {
	[AL_STATE_WORKING] = "working set",
	[AL_STATE_STATES] = "recurrent state",
	[AL_STATE_DRAFT_WEIGHTS] = "draft weights",
	[AL_STATE_DRAFT_CACHE] = "draft cache",
	[AL_STATE_OVERHEAD] = "runtime and graphs",
};

struct al_titled al_state_titled(int state)
{
	return state == AL_N_STATES
		? (struct al_titled){"total", NULL}
		: (struct al_titled){al_memory_state_names[state], titles[state]};
}

struct facts {
	const struct al_recipe *recipe;
	mpq_t of[AL_N_STATE_FACTS]; /* "trainable" is found when it is asked for */
};

enum al_adapted al_entry_adapted(const struct al_ledger_entry *t)
{
	static const enum al_adapted of_role[AL_N_ROLES] = {
		[AL_ROLE_QUERY] = AL_ADAPTED_QUERY,
		[AL_ROLE_KEY] = AL_ADAPTED_KEY,
		[AL_ROLE_VALUE] = AL_ADAPTED_VALUE,
		[AL_ROLE_OUTPUT] = AL_ADAPTED_OUTPUT,
		[AL_ROLE_MIX] = AL_ADAPTED_OTHER,
		[AL_ROLE_NORM] = AL_ADAPTED_OTHER,
		[AL_ROLE_GATE] = AL_ADAPTED_OTHER,
		[AL_ROLE_ROUTER] = AL_ADAPTED_OTHER,
		[AL_ROLE_POSITION] = AL_ADAPTED_OTHER,
		[AL_ROLE_OTHER] = AL_ADAPTED_OTHER,
	};
	const struct al_family_tensor *family = t->stored ? t->stored->tensor : NULL;

	if (t->module)
		return of_role[t->entry->role];
	if (!family || t->part != AL_PART_FEED_FORWARD)
		return AL_ADAPTED_OTHER;
	return family->role == AL_FEED_GATE    ? AL_ADAPTED_GATE
		: family->role == AL_FEED_UP   ? AL_ADAPTED_UP
		: family->role == AL_FEED_DOWN ? AL_ADAPTED_DOWN
					       : AL_ADAPTED_OTHER;
}

/* Numbers of a tensor, and those over its last and its last but one dimension: of a stack of
 * matrices, the sum over all. A vector is one column. */
static void facts_init(struct facts *facts, const struct al_ledger_entry *t, int64_t rank)
{
	const int64_t packed = t->stored ? t->stored->tensor->packed : 1; /* what trains is not */

	for (int i = 0; i < AL_N_STATE_FACTS; i++)
		mpq_init(facts->of[i]);
	al_exact_set(facts->of[AL_STATE_ELEMENTS], packed);
	for (size_t i = 0; i < t->n_dims; i++)
		al_exact_multiply(facts->of[AL_STATE_ELEMENTS], t->dims[i]);
	mpq_set(facts->of[AL_STATE_ROWS], facts->of[AL_STATE_ELEMENTS]);
	mpq_set_ui(facts->of[AL_STATE_COLS], 1, 1);
	al_exact_set(facts->of[AL_STATE_MATRIX], t->is_matrix);
	al_exact_set(facts->of[AL_STATE_HIDDEN], t->is_in_layers);
	al_exact_set(facts->of[AL_STATE_RANK], rank);
	al_exact_set(facts->of[AL_STATE_ADAPTED],
		!facts->recipe->adapted || facts->recipe->adapted >> al_entry_adapted(t) & 1);
	if (t->n_dims < 2)
		return;
	al_exact_divide(facts->of[AL_STATE_ROWS], packed * t->dims[t->n_dims - 1]);
	mpq_set(facts->of[AL_STATE_COLS], facts->of[AL_STATE_ELEMENTS]);
	al_exact_divide(facts->of[AL_STATE_COLS], t->dims[t->n_dims - 2]);
}

static void facts_finish(struct facts *facts)
{
	for (int i = 0; i < AL_N_STATE_FACTS; i++)
		mpq_clear(facts->of[i]);
}

static bool look_up(void *context, const struct al_reference *reference, bool *found,
	struct al_value *out, struct al_error *err)
{
	struct facts *facts = context;
	int fact = al_find_name(reference->symbol, al_state_fact_names, AL_N_STATE_FACTS);

	*found = fact >= 0;
	if (fact == AL_STATE_TRAINABLE && facts->recipe->trainable) {
		struct al_scope scope = {.lookup = look_up, .context = facts};
		return al_formula_eval(facts->recipe->trainable, &scope, out, err);
	}
	if (*found)
		al_value_set_exact(out,
			facts->of[fact == AL_STATE_TRAINABLE ? AL_STATE_ELEMENTS : fact]);
	return true;
}

static const struct al_state_bytes *recipe_state(const struct al_recipe *recipe,
	enum al_memory_state state)
{
	const struct al_state_bytes *const states[AL_STATE_WORKING + 1] = {
		[AL_STATE_WEIGHTS] = &recipe->weights,
		[AL_STATE_GRADIENTS] = &recipe->gradients,
		[AL_STATE_OPTIMIZER] = &recipe->optimizer,
		[AL_STATE_WORKING] = &recipe->step,
	};

	return states[state];
}

static bool add_formula(struct facts *facts, const struct al_formula *formula, mpq_t sum,
	struct al_error *err)
{
	struct al_scope scope = {.lookup = look_up, .context = facts};

	AL_VALUE(value);
	AL_EXACT(bytes);
	if (!al_formula_eval(formula, &scope, &value, err))
		return false;
	al_value_get(&value, bytes);
	mpq_add(sum, sum, bytes);
	return true;
}

bool al_entry_state(const struct al_recipe *recipe, enum al_memory_state state,
	const struct al_ledger_entry *e, int64_t rank, mpq_t out, struct al_error *err)
{
	const struct al_state_bytes *bytes = recipe_state(recipe, state);

	mpq_set(out, e->device);
	if (mpq_sgn(e->elements) == 0)
		return true;
	if (!bytes->has_formula) {
		al_exact_multiply(out, bytes->total);
		return true;
	}
	AL_ENDS(facts_finish) struct facts facts = {.recipe = recipe};
	facts_init(&facts, e, rank ? rank : recipe->rank);
	mpq_set(out, facts.of[AL_STATE_ELEMENTS]);
	al_exact_multiply(out, bytes->total);
	for (size_t i = 0; i < bytes->n_parts; i++)
		if (bytes->parts[i].formula
			&& !add_formula(&facts, bytes->parts[i].formula, out, err)) {
			al_in(err, "recipe %s", recipe->name);
			return al_in(err, "%s", e->name);
		}
	al_exact_multiply(out, e->times * e->count);
	mpq_mul(out, out, e->device);
	mpq_div(out, out, e->elements);
	return true;
}
