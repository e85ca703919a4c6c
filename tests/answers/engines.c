/* Every built-in model under every engine at any length: cache, memory and fit answer where the
 * ideal engine does, and bytes grow with the length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attnledger.h"

static int n_wrong;

static void complain(const char *model, const char *engine, const char *command, long seq,
	const char *message)
{
	printf("%s %s --engine %s --seq %ld: %s\n", command, model, engine, seq, message);
	n_wrong++;
}

/* The number of bytes of the answer, 0 where it leads with none; false: there is no answer. */
static bool ask(const char *command, const char *model, const char *engine, long seq, double *bytes,
	struct al_error *err)
{
	const bool is_fit = strcmp(command, "fit") == 0;
	char length[32];
	const char *words[] = {command, model, "--engine", engine, "--seq", length, "--device",
		"80GBx4"};
	struct al_answer *answer;

	snprintf(length, sizeof(length), "%ld", seq);
	if (!al_ask(is_fit ? 8 : 6, words, &answer, err))
		return false;
	const struct al_answer_value *lead = al_answer_lead(answer);
	*bytes = lead && strcmp(lead->unit, "B") == 0 ? strtod(lead->value, NULL) : 0;
	al_answer_free(answer);
	return true;
}

static void try_command(const char *command, const char *model, const char *engine)
{
	double before = 0;

	for (long seq = 1; seq <= 1L << 20; seq *= 4) {
		struct al_error err = {0}, unread;
		double bytes, ideal;
		if (!ask(command, model, "ideal", seq, &ideal, &unread))
			continue;
		if (!ask(command, model, engine, seq, &bytes, &err)) {
			complain(model, engine, command, seq, err.message);
			return;
		}
		if (bytes < before)
			complain(model, engine, command, seq, "less than for a shorter sequence");
		before = bytes;
	}
}

/* The names of a list: the first column of its first table. */
static struct al_answer *list(const char *kind)
{
	const char *words[] = {"list", kind};
	struct al_answer *answer;
	struct al_error err;

	if (!al_ask(2, words, &answer, &err)) {
		fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	return answer;
}

int main(void)
{
	static const char *const commands[] = {"cache", "memory", "fit"};
	struct al_answer *models = list("models"), *engines = list("engines");

	for (size_t i = 0; i < al_answer_n_rows(models, 0); i++)
		for (size_t j = 0; j < al_answer_n_rows(engines, 0); j++)
			for (size_t k = 0; k < sizeof(commands) / sizeof(*commands); k++)
				try_command(commands[k], al_answer_cell(models, 0, i, 0),
					al_answer_cell(engines, 0, j, 0));
	al_answer_free(models);
	al_answer_free(engines);
	return n_wrong > 0;
}
