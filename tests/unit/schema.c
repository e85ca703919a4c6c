/* The JSON Schemas hold for every scenario, variant, family and recipe file of this repository and
 * for every JSON answer that a golden case keeps, and refuse what the program refuses.
 *
 * A validator of the part of draft 7 that they use; a keyword that it doesn't know fails the
 * test. */
#include "unit.h"

#include <glob.h>
#include <regex.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

enum schema { ANSWER, FAMILY, RECIPE, SCENARIO, VARIANT, N_SCHEMAS };
static const char *const schema_files[N_SCHEMAS] = {"answer.json", "family.json", "recipe.json",
	"scenario.json", "variant.json"};
static struct al_json schemas[N_SCHEMAS];

/* One keyword of `schema`, whose file is `doc`, against a value. */
typedef bool keyword_holds(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value);

static bool holds(const struct al_json *doc, const struct al_item *schema,
	const struct al_item *value);

/* ---- reading schemas ---- */

static const char *text_of(const struct al_item *node)
{
	const char *text = NULL;

	assert_true(al_json_text(&schemas[SCENARIO], node, &text, NULL));
	return text;
}

static double number_of(const struct al_item *node)
{
	double number = 0;

	assert_true(al_json_real(&schemas[SCENARIO], node, &number, NULL));
	return number;
}

static bool is_text(const struct al_item *value)
{
	return al_json_kind(value) == AL_JSON_TEXT;
}

static bool is_number(const struct al_item *value)
{
	return al_json_kind(value) == AL_JSON_NUMBER;
}

static bool is_object(const struct al_item *value)
{
	return al_json_kind(value) == AL_JSON_OBJECT;
}

static bool is_array(const struct al_item *value)
{
	return al_json_kind(value) == AL_JSON_ARRAY;
}

/* "#/definitions/NAME", "variant.json", or "variant.json#/definitions/NAME" */
static bool holds_reference(const struct al_json *doc, const char *reference,
	const struct al_item *value)
{
	static const char prefix[] = "#/definitions/";
	const size_t length = strcspn(reference, "#");

	for (size_t i = 0; i < N_SCHEMAS; i++)
		if (length == strlen(schema_files[i])
			&& strncmp(schema_files[i], reference, length) == 0)
			doc = &schemas[i];
	if (!reference[length])
		return holds(doc, doc->root, value);
	assert_int_equal(strncmp(reference + length, prefix, strlen(prefix)), 0);
	const struct al_item *definition = al_json_get(al_json_get(doc->root, "definitions"),
		reference + length + strlen(prefix));
	assert_non_null(definition);
	return holds(doc, definition, value);
}

/* ---- keywords ---- */

static bool annotates(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)keyword, (void)schema, (void)value;
	return true;
}

static bool is_whole(const struct al_item *value)
{
	return al_json_kind(value) == AL_JSON_NUMBER && value->number > -0x1p53
		&& value->number < 0x1p53 && (double)(int64_t)value->number == value->number;
}

static bool has_type(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	static const char *const names[] = {
		[AL_JSON_NULL] = "null",
		[AL_JSON_BOOLEAN] = "boolean",
		[AL_JSON_NUMBER] = "number",
		[AL_JSON_TEXT] = "string",
		[AL_JSON_ARRAY] = "array",
		[AL_JSON_OBJECT] = "object",
	};

	(void)schema;
	al_json_each (type, keyword)
		if (has_type(doc, type, schema, value))
			return true;
	if (is_array(keyword))
		return false;
	if (strcmp(text_of(keyword), "integer") == 0)
		return is_whole(value);
	return strcmp(text_of(keyword), names[al_json_kind(value)]) == 0;
}

static bool is_among(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	al_json_each (word, keyword)
		if (is_text(value) && strcmp(text_of(word), text_of(value)) == 0)
			return true;
	return false;
}

static bool matches(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	regex_t regex;

	(void)doc, (void)schema;
	if (!is_text(value))
		return true;
	assert_int_equal(regcomp(&regex, text_of(keyword), REG_EXTENDED | REG_NOSUB), 0);
	bool found = regexec(&regex, text_of(value), 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static bool is_long_enough(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_text(value) || (double)strlen(text_of(value)) >= number_of(keyword);
}

static bool is_short_enough(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_text(value) || (double)strlen(text_of(value)) <= number_of(keyword);
}

static bool is_at_least(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_number(value) || number_of(value) >= number_of(keyword);
}

static bool is_at_most(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_number(value) || number_of(value) <= number_of(keyword);
}

static bool has_items(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	if (!is_array(value))
		return true;
	al_json_each (item, value)
		if (!holds(doc, keyword, item))
			return false;
	return true;
}

static bool has_enough_items(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_array(value) || (double)al_json_size(value) >= number_of(keyword);
}

static bool has_few_items(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_array(value) || (double)al_json_size(value) <= number_of(keyword);
}

static bool has_different_items(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)keyword, (void)schema;
	if (!is_array(value))
		return true;
	al_json_each (a, value)
		for (const struct al_item *b = al_json_next(a); b; b = al_json_next(b))
			if (is_text(a) && is_text(b) && strcmp(text_of(a), text_of(b)) == 0)
				return false;
	return true;
}

static bool has_required(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	al_json_each (key, keyword)
		if (is_object(value) && !al_json_get(value, text_of(key)))
			return false;
	return true;
}

static bool has_enough_members(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)doc, (void)schema;
	return !is_object(value) || (double)al_json_size(value) >= number_of(keyword);
}

static bool has_properties(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	if (!is_object(value))
		return true;
	al_json_each (property, keyword) {
		const struct al_item *member = al_json_get(value, al_json_key(property));
		if (member && !holds(doc, property, member))
			return false;
	}
	return true;
}

static bool allows_others(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	const struct al_item *properties = al_json_get(schema, "properties");

	if (!is_object(value))
		return true;
	al_json_each (member, value) {
		if (properties && al_json_get(properties, al_json_key(member)))
			continue;
		if (al_json_kind(keyword) == AL_JSON_BOOLEAN || !holds(doc, keyword, member))
			return false;
	}
	return true;
}

static bool name_holds(const struct al_json *doc, const struct al_item *schema, const char *name)
{
	struct al_json quoted;
	struct al_text text;

	al_text_init(&text);
	al_json_quote(&text, name);
	assert_true(al_json_parse(&quoted, "name", text.data, text.length, NULL));
	bool ok = holds(doc, schema, quoted.root);
	al_json_finish(&quoted);
	al_text_finish(&text);
	return ok;
}

static bool has_names(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	if (!is_object(value))
		return true;
	al_json_each (member, value)
		if (!name_holds(doc, keyword, al_json_key(member)))
			return false;
	return true;
}

static bool has_dependencies(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	al_json_each (dependency, keyword)
		if (is_object(value) && al_json_get(value, al_json_key(dependency))
			&& !has_required(doc, dependency, schema, value))
			return false;
	return true;
}

static size_t count_holding(const struct al_json *doc, const struct al_item *among,
	const struct al_item *value)
{
	size_t n = 0;

	al_json_each (schema, among)
		n += holds(doc, schema, value);
	return n;
}

static bool holds_any(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) > 0;
}

static bool holds_one(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) == 1;
}

static bool holds_all(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) == al_json_size(keyword);
}

static bool holds_not(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	(void)schema;
	return !holds(doc, keyword, value);
}

static bool holds_if(const struct al_json *doc, const struct al_item *keyword,
	const struct al_item *schema, const struct al_item *value)
{
	const struct al_item *branch = al_json_get(schema,
		holds(doc, keyword, value) ? "then" : "else");

	return !branch || holds(doc, branch, value);
}

static const struct {
	const char *name;
	keyword_holds *holds;
} keywords[] = {
	{"$schema", annotates},
	{"$id", annotates},
	{"title", annotates},
	{"description", annotates},
	{"examples", annotates},
	{"definitions", annotates},
	{"then", annotates},
	{"else", annotates},
	{"type", has_type},
	{"enum", is_among},
	{"pattern", matches},
	{"minLength", is_long_enough},
	{"maxLength", is_short_enough},
	{"minimum", is_at_least},
	{"maximum", is_at_most},
	{"items", has_items},
	{"minItems", has_enough_items},
	{"maxItems", has_few_items},
	{"uniqueItems", has_different_items},
	{"required", has_required},
	{"minProperties", has_enough_members},
	{"properties", has_properties},
	{"additionalProperties", allows_others},
	{"propertyNames", has_names},
	{"dependencies", has_dependencies},
	{"anyOf", holds_any},
	{"oneOf", holds_one},
	{"allOf", holds_all},
	{"not", holds_not},
	{"if", holds_if},
};

static keyword_holds *find_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcmp(keywords[i].name, name) == 0)
			return keywords[i].holds;
	fail_msg("unknown keyword \"%s\"", name);
	return annotates;
}

/* In draft 7, nothing beside a reference counts. */
static bool holds(const struct al_json *doc, const struct al_item *schema,
	const struct al_item *value)
{
	const struct al_item *reference = al_json_get(schema, "$ref");

	if (reference)
		return holds_reference(doc, text_of(reference), value);
	al_json_each (keyword, schema)
		if (!find_keyword(al_json_key(keyword))(doc, keyword, schema, value))
			return false;
	return true;
}

/* ---- files ---- */

static int read_schemas(void **state)
{
	char path[64];

	(void)state;
	for (size_t i = 0; i < N_SCHEMAS; i++) {
		snprintf(path, sizeof(path), "schemas/%s", schema_files[i]);
		if (!al_json_read(&schemas[i], path, NULL))
			return -1;
	}
	return 0;
}

static int finish_schemas(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_SCHEMAS; i++)
		al_json_finish(&schemas[i]);
	return 0;
}

static void check_document(const struct al_json *schema, const struct al_json *doc)
{
	if (!holds(schema, schema->root, doc->root))
		fail_msg("%s is not as %s has it", doc->name, schema->name);
}

/* Each file; how many there are. */
static size_t check_files(enum schema schema, const char *pattern)
{
	struct al_json file;
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	const size_t n = found.gl_pathc;
	for (size_t i = 0; i < n; i++) {
		assert_true(al_json_read(&file, found.gl_pathv[i], NULL));
		check_document(&schemas[schema], &file);
		al_json_finish(&file);
	}
	globfree(&found);
	return n;
}

static void files_are_valid(void **state)
{
	(void)state;
	assert_true(check_files(SCENARIO, "scenarios/*.json") > 0);
	assert_true(check_files(VARIANT, "src/catalog/variants/*.json") > 0);
	assert_true(check_files(FAMILY, "src/catalog/families/*.json") > 0);
	assert_true(check_files(RECIPE, "src/catalog/recipes/*.json") > 0);
}

/* ---- answers ---- */

/* The answers of a golden case, each from a line "{" to the next "}"; how many there are. */
static size_t check_answers(const char *path)
{
	struct al_text text;
	size_t n = 0;

	al_text_init(&text);
	assert_true(al_file_read(&text, path, (size_t)64 << 20, NULL));
	for (const char *from = strstr(text.data, "\n{\n"), *end; from;
		from = strstr(end, "\n{\n")) {
		struct al_json doc;
		end = strstr(from, "\n}\n");
		if (!end)
			break;
		end += strlen("\n}");
		assert_true(al_json_parse(&doc, path, from, (size_t)(end - from), NULL));
		if (al_json_get(doc.root, "attnledger")) {
			check_document(&schemas[ANSWER], &doc);
			n++;
		}
		al_json_finish(&doc);
	}
	al_text_finish(&text);
	return n;
}

static void answers_are_valid(void **state)
{
	size_t n = 0;
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/golden/*/*.test", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		n += check_answers(found.gl_pathv[i]);
	globfree(&found);
	assert_true(n >= 10);
}

/* ---- texts ---- */

/* The texts have ' for ". */
static bool text_holds(const struct al_json *schema, const char *text)
{
	struct al_json doc;
	struct al_text quoted;

	al_text_init(&quoted);
	al_text_add(&quoted, text);
	for (size_t i = 0; i < quoted.length; i++)
		if (quoted.data[i] == '\'')
			quoted.data[i] = '"';
	assert_true(al_json_parse(&doc, "text", quoted.data, quoted.length, NULL));
	bool ok = holds(schema, schema->root, doc.root);
	al_json_finish(&doc);
	al_text_finish(&quoted);
	return ok;
}

static void accepts_what_the_program_accepts(void **state)
{
	static const char *const texts[] = {
		"{'title': 't', 'variants': ['mha', {'use': 'gqa', 'n_kv_heads': 4, 'biases': "
		"true}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {'seq': [1, 2]}, "
		"'measure': ['cache']}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '0..1', 'relation': 'in', "
		"'value': 's/mha/seq=1/cache'}]}",
		"{'title': 't', 'data': [{'id': 'd', 'file': 'd.csv', 'metric': {'f1': "
		"'higher'}}]}",
		"{'title': 't', 'note': 'n', 'set': {'batch': 1, 'note': 'n'}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!text_holds(&schemas[SCENARIO], texts[i]))
			fail_msg("refuses %s", texts[i]);
}

static void refuse(enum schema schema, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_holds(&schemas[schema], texts[i]))
			fail_msg("accepts %s", texts[i]);
}

static void refuses_wrong_scenarios(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'title': 't', 'table': []}",
		"{'title': 't', 'set': {'batch': -1}}",
		"{'title': 't', 'basis': {'output_projection': 'half'}}",
		"{'title': 't', 'cases': [{'id': 'a/b'}]}",
		"{'title': 't', 'variants': [{'use': 'gqa', 'n_kv_heads': [4]}]}",
		"{'title': 't', 'variants': [{'name': 'v', 'tensors': [{'name': 'W', "
		"'role': 'qkv', 'shape': [1]}]}]}",
		"{'title': 't', 'data': [{'id': 'd', 'columns': ['f1'], 'rows': [[0.5]]}]}",
		"{'title': 't', 'data': [{'id': 'd', 'columns': ['f1'], 'rows': [], "
		"'file': 'd.csv'}]}",
		"{'title': 't', 'data': [{'id': 'd', 'file': 'd.csv', 'metric': {'f1': 'up'}}]}",
		"{'title': 't', 'tables': [{'id': 'Table 1', 'columns': ['total']}]}",
		"{'title': 't', 'tables': [{'id': 't', 'columns': []}]}",
		"{'title': 't', 'tables': [{'id': 't', 'columns': ['score of f1']}]}",
		"{'title': 't', 'tables': [{'id': 't', 'case': 'a', 'cases': ['a'], "
		"'columns': ['total']}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {}, 'measure': 'cache'}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {'seq': {'from': 1}}, "
		"'measure': 'cache'}]}",
		"{'title': 't', 'figures': [{'id': 'f', 'of': 't', 'mark': 'pie'}]}",
		"{'title': 't', 'figures': [{'id': 'f', 'of': 't', 'mark': 'bar', "
		"'y': {'scale': 'log'}}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 't/a/b', "
		"'underivable': 'x'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': '100*3'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 'a', "
		"'with': {'a': '3'}}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 't/a/b', "
		"'relation': '<='}]}",
		"{'title': 't', 'errata': [{'id': '1'}]}",
	};

	(void)state;
	refuse(SCENARIO, texts, sizeof(texts) / sizeof(*texts));
}

static void refuses_wrong_variants(void **state)
{
	static const char *const texts[] = {
		"{'name': 'v'}",
		"{'name': 'a,b', 'tensors': []}",
		"{'name': 'v', 'tensor': []}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'shape': [1]}]}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'role': 'key', 'shape': []}]}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'role': 'key', 'shape': [1], "
		"'saved': 'eager'}]}",
		"{'name': 'v', 'tensors': [], 'options': {'biases': 1}}",
		"{'name': 'v', 'tensors': [], 'symbols': {'max': 'the greatest'}}",
		"{'name': 'v', 'tensors': [], 'cache': [{'name': 'K', 'shape': [1], 'per': "
		"'layer'}]}",
		"{'name': 'v', 'tensors': [], 'products': [{'name': 'p', 'left': [1], "
		"'right': [1, 2]}]}",
		"{'name': 'v', 'tensors': [], 'checks': [{'source': 's'}]}",
	};

	(void)state;
	refuse(VARIANT, texts, sizeof(texts) / sizeof(*texts));
}

static void refuses_wrong_families(void **state)
{
	static const char *const texts[] = {
		"{'name': 'f'}",
		"{'name': 'f', 'model_types': []}",
		"{'name': 'f', 'model_types': ['f'], 'configs': {}}",
		"{'name': 'f', 'model_types': ['f'], 'config': {'d_model': {}}}",
		"{'name': 'f', 'model_types': ['f'], 'config': {'d_model': {'key': 'd', 'type': "
		"'int'}}}",
		"{'name': 'f', 'model_types': ['f'], 'modules': [{'name': 'm'}]}",
		"{'name': 'f', 'model_types': ['f'], 'modules': [{'name': 'm', 'variant': 'mha', "
		"'stored': [{'name': 'q'}]}]}",
		"{'name': 'f', 'model_types': ['f'], 'tensors': [{'part': 'body', 'name': 't', "
		"'shape': [1]}]}",
		"{'name': 'f', 'model_types': ['f'], 'tensors': [{'part': 'head', 'name': 't', "
		"'shape': [1], 'for': {'expert': ['n', 'k', 'm']}}]}",
		"{'name': 'f', 'model_types': ['f'], 'components': {'smell': {'config': '', "
		"'family': 'bert'}}}",
		"{'name': 'f', 'model_types': ['f'], 'forward': {'kind': 'decoder'}}",
	};

	(void)state;
	refuse(FAMILY, texts, sizeof(texts) / sizeof(*texts));
}

static void refuses_wrong_recipes(void **state)
{
	static const char *const texts[] = {
		"{'name': 'r', 'weights': [2], 'gradients': [2], 'optimizer': [8]}",
		"{'name': 'r', 'weights': 2, 'gradients': [2], 'optimizer': [8], 'activations': "
		"{'ledger': 'eager'}}",
		"{'name': 'r', 'weights': [2], 'gradients': [2], 'optimizer': [2000], "
		"'activations': {'ledger': 'eager'}}",
		"{'name': 'r', 'weights': [2], 'gradients': [2], 'optimizer': [8], 'activations': "
		"{'ledger': 'eager', 'per_token': '1'}}",
		"{'name': 'r', 'weights': [2], 'gradients': [2], 'optimizer': [8], 'activations': "
		"{'ledger': 'eager'}, 'working': [{'name': 'w', 'bytes': '1'}]}",
		"{'name': 'r', 'weights': [2], 'gradients': [2], 'optimizer': [8], 'activations': "
		"{'ledger': 'eager'}, 'rank': 0}",
	};

	(void)state;
	refuse(RECIPE, texts, sizeof(texts) / sizeof(*texts));
}

static void refuses_what_no_command_answers(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'attnledger': '0.1.0'}",
		"{'attnledger': '0.1.0', 'tables': [{'id': 't'}]}",
		"{'attnledger': '0.1.0', 'id': 't', 'title': '', 'columns': [], 'rows': [{'a': "
		"true}], 'notes': []}",
		"{'attnledger': '0.1.0', 'id': 't', 'title': '', 'columns': [], 'rows': [], "
		"'notes': [], 'tables': []}",
	};

	(void)state;
	refuse(ANSWER, texts, sizeof(texts) / sizeof(*texts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_valid),
		cmocka_unit_test(answers_are_valid),
		cmocka_unit_test(accepts_what_the_program_accepts),
		cmocka_unit_test(refuses_wrong_scenarios),
		cmocka_unit_test(refuses_wrong_variants),
		cmocka_unit_test(refuses_wrong_families),
		cmocka_unit_test(refuses_wrong_recipes),
		cmocka_unit_test(refuses_what_no_command_answers),
	};

	return cmocka_run_group_tests(tests, read_schemas, finish_schemas);
}
