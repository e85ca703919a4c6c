/* Families: reading how llama.cpp calls a model's tensors and metadata. */
#include "catalog/family_read.h"

static const char *key_of(void *reader, const struct al_item *member)
{
	return al_strdup(((struct al_reader *)reader)->arena, member->key);
}

static bool read_pair(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_pair *pair = out;

	pair->name = key_of(reader, member);
	return al_read_text(reader, member, &pair->of, err);
}

static bool read_size(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_size *size = out;

	size->name = key_of(reader, member);
	return al_read_formula_or_flag(reader, member, &size->value, err);
}

static bool read_number(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	struct al_exchange_number *number = out;

	number->name = key_of(reader, member);
	return al_read_config_number(reader, member, &number->value, err);
}

#define AT(member) offsetof(struct al_exchange, member)
static const struct al_field exchange_fields[] = {
	{AL_KEY("architecture", TEXT, AT(architecture)), .is_required = true},
	{AL_KEY("sizes", MEMBERS, AT(sizes)), .n_offset = AT(n_sizes), .read = read_size,
		.item_size = sizeof(struct al_exchange_size), .most = AL_FAMILY_ITEMS},
	{AL_KEY("numbers", MEMBERS, AT(numbers)), .n_offset = AT(n_numbers), .read = read_number,
		.item_size = sizeof(struct al_exchange_number), .most = AL_FAMILY_ITEMS},
	{AL_KEY("tensors", MEMBERS, AT(tensors)), .n_offset = AT(n_tensors), .read = read_pair,
		.item_size = sizeof(struct al_exchange_pair), .most = AL_FAMILY_ITEMS},
	{AL_KEY("scaling", LIST, AT(scaling)), .n_offset = AT(n_scaling)},
};
#undef AT
static const struct al_record exchange_record = {.fields = AL_FIELDS(exchange_fields)};

bool al_read_exchange(void *reader, const struct al_item *node, void *out, struct al_error *err)
{
	struct al_reader *r = reader;
	struct al_exchange *exchange = al_new(r->arena, struct al_exchange);

	*(const struct al_exchange **)out = exchange;
	return al_read_record(r, &exchange_record, node, exchange, err);
}

bool al_read_hub(void *reader, const struct al_item *member, void *out, struct al_error *err)
{
	return read_pair(reader, member, out, err);
}
