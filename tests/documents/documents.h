/* Valid documents of every parser: what tests cut short, or parse with too little memory. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

struct parser {
	const char *name;
	/* Is the document valid? Behind its `length` bytes nothing may be read. */
	bool (*parse)(const char *text, size_t length, struct al_error *err);
	const char *files; /* a pattern as glob() takes it, from the source root; NULL: none */
	const char *texts[8]; /* documents that stand here */
	void (*fill)(struct al_text *out); /* makes one more; NULL: none */
};

/* The last has no name. */
extern const struct parser parsers[];

/* Calls `visit` with every document of a parser; `name` is for messages. */
void visit_documents(const struct parser *parser,
	void (*visit)(const struct parser *parser, const char *name, const char *text,
		size_t length));

/* Makes what some parsers work with (a folder, a compressed checkpoint), and removes it. */
void documents_begin(void);
void documents_end(void);
