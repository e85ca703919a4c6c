/* Prints what al_ask answers to the words of its command line, as JSON. */
#include <stdio.h>

#include "attnledger.h"

int main(int argc, char **argv)
{
	struct al_answer *answer;
	struct al_error err;

	if (!al_ask((size_t)argc - 1, (const char *const *)argv + 1, &answer, &err)) {
		fprintf(stderr, "%s\n", err.message);
		return (int)err.status;
	}
	fputs(al_answer_json(answer), stdout);
	const int status = al_answer_is_no(answer) ? 1 : 0;
	al_answer_free(answer);
	return status;
}
