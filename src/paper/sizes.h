/* Sizes of models that sentences name: "Llama 3 8B (32 layers, 8 KV heads)". */
#pragma once

#include "paper/deriving.h"

/* The model that the sentences before were about. */
struct al_paper_topic {
	const struct al_paper_subject *subject; /* NULL: none, or more than one */
	size_t age; /* sentences that name none since; a paragraph is as far as three */
};

/* It is forgotten after some sentences. */
void al_paper_topic_age(struct al_paper_topic *topic, size_t n_sentences);

/* Judges sizes of the models that the sentence names, or that of the topic, which it may change. */
void al_paper_read_sizes(const struct al_sentence *sentence, const struct al_deriving *deriving,
	struct al_paper_subjects *subjects, struct al_paper_topic *topic);
