/* What an input may cost, and what it has cost. */
#include "base/budget.h"

static uint64_t most_of(uint64_t constant, uint64_t factor, uint64_t n_input)
{
	return n_input < (UINT64_MAX - constant) / factor ? constant + factor * n_input
							  : UINT64_MAX;
}

static uint64_t most_bytes(const struct al_budget *budget)
{
	return most_of(AL_BUDGET_BYTES, AL_BUDGET_BYTES_A_BYTE, budget->n_input);
}

static uint64_t most_steps(const struct al_budget *budget)
{
	return most_of(AL_BUDGET_STEPS, AL_BUDGET_STEPS_A_BYTE, budget->n_input);
}

bool al_budget_holds(const struct al_budget *budget, uint64_t more)
{
	const uint64_t most = most_bytes(budget);

	return budget->steps <= most_steps(budget) && budget->bytes <= most
		&& more <= most - budget->bytes;
}

static bool refuse(uint64_t needed, const char *of_what, const struct al_budget *budget,
	uint64_t most, struct al_error *err)
{
	return al_fail(err, AL_EINPUT,
		"too costly: needs %llu %s or more, the limit for %llu bytes of input is %llu",
		(unsigned long long)needed, of_what, (unsigned long long)budget->n_input,
		(unsigned long long)most);
}

bool al_budget_check(const struct al_budget *budget, uint64_t more, struct al_error *err)
{
	if (al_budget_holds(budget, more))
		return true;
	return budget->steps > most_steps(budget)
		? refuse(budget->steps, "steps", budget, most_steps(budget), err)
		: refuse(most_of(budget->bytes, 1, more), "bytes of memory", budget,
			most_bytes(budget), err);
}

bool al_budget_take(struct al_budget *budget, uint64_t steps, struct al_error *err)
{
	budget->steps = most_of(budget->steps, 1, steps);
	return al_budget_check(budget, 0, err);
}
