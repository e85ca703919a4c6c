/* Valid documents of every parser are cut at every byte: what is left is refused in one line, or is
 * a valid shorter document; nothing behind it is read (AddressSanitizer sees that). What is left of
 * an object of JSON is refused as JSON, whatever it is of: after each parser's first document, and
 * after their first 2 kB, these are cut at every 61st byte. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "documents/documents.h"

enum { EVERY_BYTE = 2048, STEP = 61 };

static size_t n_cuts;

static void check_cut(const struct parser *parser, const char *name, const char *text,
	size_t length)
{
	struct al_error err = {0};
	char *cut = malloc(length ? length : 1);

	assert_non_null(cut);
	memcpy(cut, text, length);
	if (!parser->parse(cut, length, &err)
		&& ((err.status != AL_EINPUT && err.status != AL_EFORMAT) || !*err.message
			|| strchr(err.message, '\n')))
		fail_msg("%s cut to %zu bytes: status %d, \"%s\"", name, length, err.status,
			err.message);
	free(cut);
	n_cuts++;
}

static size_t next_cut(size_t n, bool is_more_json)
{
	return n + (n < EVERY_BYTE && !is_more_json ? 1 : STEP);
}

static void check_document(const struct parser *parser, const char *name, const char *text,
	size_t length)
{
	const bool is_more_json = n_cuts > 0 && parser->files && *text == '{';
	struct al_error err;

	if (!parser->parse(text, length, &err))
		fail_msg("%s: %s: %s", parser->name, name, err.message);
	for (size_t n = 0; n < length; n = next_cut(n, is_more_json))
		check_cut(parser, name, text, n);
}

static void a_cut_document_is_refused_or_valid(void **state)
{
	(void)state;
	for (const struct parser *p = parsers; p->name; p++) {
		n_cuts = 0;
		visit_documents(p, check_document);
		assert_true(n_cuts > 0);
		print_message("# %s: %zu cuts\n", p->name, n_cuts);
	}
}

static int begin(void **state)
{
	(void)state;
	documents_begin();
	return 0;
}

static int end(void **state)
{
	(void)state;
	documents_end();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_cut_document_is_refused_or_valid)};

	return cmocka_run_group_tests(tests, begin, end);
}
