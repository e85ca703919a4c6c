/* Models by the labels that papers give them. */
#pragma once

#include "paper/subject.h"

struct al_paper_model {
	const char **names;
	size_t n_names;
	const char *word; /* by which the catalog knows it */
	const char *from;
	const char *config; /* that the catalog is given with the word; NULL: it knows it */
	const struct al_paper_subject *subject; /* NULL: it can't be counted */
	const char *failure; /* why not */
	bool is_file; /* of a folder */
	bool has_own_title; /* the first name; else the catalog's */
	bool is_read, is_added;
};

/* Most texts begin as no name does. */
bool al_paper_model_may_be(const struct al_paper_subjects *s, const char *label);

/* NULL: the label names no model. */
struct al_paper_model *al_paper_model_find(struct al_paper_subjects *subjects, const char *label);
