/* Strict JSON: parsed; then every node is asked for every kind and for its place. */
#include <cjson/cJSON.h>

#include "base/json.h"
#include "fuzz.h"

/* A place's line is counted from the text's beginning: for so many nodes only. */
enum { MOST_NODES = 64 };

static void visit(const struct al_json *doc, const struct al_item *node, int *n_nodes)
{
	static const char *const known[] = {"title", "name"};
	struct al_error err;
	const char *text;
	int64_t whole;
	double real;
	bool boolean;

	if (++*n_nodes > MOST_NODES)
		return;
	FUZZ_CHECK(!al_json_fail(doc, node, &err, "here") && strncmp(err.message, "fuzz:", 5) == 0);
	if (al_json_text(doc, node, &text, &err))
		FUZZ_CHECK(text != NULL);
	if (al_json_whole(doc, node, &whole, &err))
		FUZZ_CHECK(whole > -(INT64_C(1) << 53) && whole < INT64_C(1) << 53);
	if (al_json_real(doc, node, &real, &err))
		FUZZ_CHECK(real == real);
	if (al_json_boolean(doc, node, &boolean, &err))
		FUZZ_CHECK(al_json_kind(node) == AL_JSON_BOOLEAN);
	if (al_json_only(doc, node, known, 2, &err))
		FUZZ_CHECK(al_json_kind(node) == AL_JSON_OBJECT);
	al_json_each (child, node) {
		if (al_json_kind(node) == AL_JSON_OBJECT)
			FUZZ_CHECK(al_json_get(node, al_json_key(child)) == child);
		visit(doc, child, n_nodes);
	}
}

/* cJSON keeps no more of a number. */
enum { MOST_DIGITS = 60 };

static void compare_number(const struct al_item *node, const cJSON *other)
{
	if (node->end - node->place <= MOST_DIGITS)
		FUZZ_CHECK(cJSON_IsNumber(other) && node->number == other->valuedouble);
}

/* Another parser reads the same. */
static void compare(const struct al_item *node, const cJSON *other)
{
	const cJSON *of_other = other->child;

	switch (al_json_kind(node)) {
	case AL_JSON_NUMBER:
		compare_number(node, other);
		break;
	case AL_JSON_TEXT:
		FUZZ_CHECK(cJSON_IsString(other) && strcmp(node->text, other->valuestring) == 0);
		break;
	case AL_JSON_BOOLEAN:
		FUZZ_CHECK(cJSON_IsBool(other) && node->is_true == cJSON_IsTrue(other));
		break;
	case AL_JSON_NULL:
		FUZZ_CHECK(cJSON_IsNull(other));
		break;
	case AL_JSON_ARRAY:
	case AL_JSON_OBJECT:
		FUZZ_CHECK(al_json_kind(node) == AL_JSON_ARRAY ? cJSON_IsArray(other)
							       : cJSON_IsObject(other));
	}
	al_json_each (child, node) {
		FUZZ_CHECK(of_other != NULL);
		FUZZ_CHECK(!child->key || strcmp(child->key, of_other->string) == 0);
		compare(child, of_other);
		of_other = of_other->next;
	}
	FUZZ_CHECK(of_other == NULL);
}

static void check_others(const struct al_json *doc, const char *text, size_t size)
{
	cJSON *root = cJSON_ParseWithLength(text, size + 1);

	FUZZ_CHECK(root != NULL);
	compare(doc->root, root);
	cJSON_Delete(root);
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_json doc;
	struct al_error err = {0};
	char *text = malloc(size + 1);
	int n_nodes = 0;

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (al_json_parse(&doc, "fuzz", text, size, &err)) {
		visit(&doc, doc.root, &n_nodes);
		check_others(&doc, text, size);
		al_json_finish(&doc);
	} else {
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
	}
	free(text);
	return 0;
}
