/* What is refused for its cost. */
#include "base/budget.h"

static uint64_t sum(uint64_t a, uint64_t b)
{
	return a < UINT64_MAX - b ? a + b : UINT64_MAX;
}

uint64_t al_budget_most(const struct al_budget *budget, uint64_t constant, uint64_t factor)
{
	uint64_t most;

	return __builtin_mul_overflow(factor, budget->n_input, &most)
			|| __builtin_add_overflow(most, constant, &most)
		? UINT64_MAX
		: most;
}

uint64_t al_budget_most_bytes(const struct al_budget *budget)
{
	return al_budget_most(budget, AL_BUDGET_BYTES, AL_BUDGET_BYTES_A_BYTE);
}

uint64_t al_budget_most_steps(const struct al_budget *budget)
{
	return al_budget_most(budget, AL_BUDGET_STEPS, AL_BUDGET_STEPS_A_BYTE);
}

bool al_budget_holds(const struct al_budget *budget, uint64_t more)
{
	const uint64_t most = al_budget_most_bytes(budget);

	return budget->steps <= al_budget_most_steps(budget) && budget->bytes <= most
		&& more <= most - budget->bytes;
}

static bool refuse(const struct al_budget *budget, uint64_t needed, const char *of_what,
	uint64_t most, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"too costly: needs %llu %s or more, the limit for %llu bytes of input is %llu",
		(unsigned long long)needed, of_what, (unsigned long long)budget->n_input,
		(unsigned long long)most);
}

bool al_budget_check(const struct al_budget *budget, uint64_t more, struct al_error *err)
{
	const uint64_t most = al_budget_most_steps(budget);

	if (al_budget_holds(budget, more))
		return true;
	return budget->steps > most ? refuse(budget, budget->steps, "steps", most, err)
				    : refuse(budget, sum(budget->bytes, more), "bytes of memory",
					    al_budget_most_bytes(budget), err);
}

bool al_budget_take(struct al_budget *budget, uint64_t steps, struct al_error *err)
{
	budget->steps = sum(budget->steps, steps);
	return al_budget_check(budget, 0, err);
}
