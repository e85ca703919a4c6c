/* Binding: a paper's tables and their map become a scenario, each number of which is
 * a claim. */
#pragma once

#include "catalog/catalog.h"
#include "paper/map.h"
#include "paper/subject.h"

/* A number that can be recomputed: the claim "line L (N)", N being its index. */
struct al_paper_site {
	size_t line;
	const char *printed, *unit; /* unit: of the column; NULL: the number's own */
	bool is_of_ledger; /* parameters, bytes: not made of scores */
};

struct al_paper_finding {
	const char *file; /* once they are known */
	size_t line;
	const char *printed, *expected, *note; /* each may be NULL, as the next ones */
	const char *cause; /* a word: "half", "digit", "swap" */
	const char *derivation; /* in a line, with its numbers */
	const char *instead; /* the text that would be right */
	const char *verdict; /* NULL: it could not be read */
	size_t place; /* among all findings, which sorting by line keeps */
};

struct al_paper_findings {
	struct al_arena *arena;
	struct al_paper_finding *items;
	size_t n, room;
};

void al_paper_findings_add(struct al_paper_findings *findings, struct al_paper_finding finding);

struct al_bound {
	struct al_arena arena;
	struct al_text scenario; /* of the tables in the map */
	struct al_text annotated; /* JSON: claims of \claim that are to be put to map->scenario */
	struct al_paper_site *sites;
	size_t n_sites, sites_room;
	struct al_paper_findings gaps; /* what could not be read, and why */
	size_t n_data; /* scores that are taken as they are */
};

void al_bound_init(struct al_bound *bound); /* al_bound_finish must follow */
bool al_paper_bind(struct al_bound *bound, const struct al_paper *paper,
	const struct al_paper_map *map, struct al_paper_subjects *subjects,
	struct al_error *err) AL_MUST_CHECK;
void al_bound_finish(struct al_bound *bound);

/* What a label of the paper, or each of its words where several rows ran into one, is called here,
 * by the map, else by the models that papers name, each of which may be NULL, else by the catalog:
 * how many; 0: one is no name (names.c). */
size_t al_paper_names(enum al_catalog_kind kind, const struct al_paper_map *map,
	struct al_paper_subjects *subjects, struct al_arena *arena, const char *label,
	const char ***names);

/* The n-th of `n_parts` words of a text; all of it where there is one part; NULL where it hasn't so
 * many. */
const char *al_paper_part(struct al_arena *arena, const char *text, size_t n, size_t n_parts);
