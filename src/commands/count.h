/* What the command `count` is made of: its request, its table, what is said of it. */
#ifndef ATTNLEDGER_COMMANDS_COUNT_H
#define ATTNLEDGER_COMMANDS_COUNT_H

#include "commands/request.h"

/* Beside the table; of one subject, where there are several of the last. */
struct al_count_facts {
	const char *covered; /* "Llama 3 8B", "the attention in GPT-3 175B" */
	const char *components; /* "vision": only these parts of it; "": all */
	bool is_model; /* with all its parts, not attention alone */
	bool is_stored; /* stored numbers instead of parameters */
	mpq_ptr active, tied;
	enum al_output_projection projection;
};

struct al_count_options {
	struct al_output_options output;
	struct al_asked asked;
	bool explains, shows_tensors, shows_active, shows_counts, is_whole, is_stored;
	uint64_t components; /* a bit for each of al_component_names; 0: those of the model */
};

/* One answer: a model with its own attention or with one variant in its place. */
struct al_count_answer {
	struct al_session *session;
	const struct al_count_options *options;
	struct al_request *request;
	struct al_table *table;
	struct al_table *counts, *explanations; /* NULL: not asked for */
	struct al_quantisation *quantisation; /* of the request; NULL: none is asked for */
	const char *unknown; /* why it isn't known; or NULL */
	struct al_count_facts facts;
};

/* The parts that are asked for, "text, vision"; "": those of the model. */
const char *al_count_components(const struct al_count_answer *c);

/* What the answer about a model stands on. */
void al_count_note(const struct al_count_answer *c);

/* NULL: the table has no total that is known. */
const char *al_count_summarize(struct al_arena *arena, const struct al_table *table,
	const struct al_count_facts *facts);

#endif
