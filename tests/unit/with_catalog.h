/* The catalog that the tests of a file share: create_catalog and destroy_catalog are what a group
 * of tests begins and ends with. */
#pragma once

#include "unit.h"

#include "catalog/catalog.h"

static struct al_catalog *catalog;

static inline int create_catalog(void **state)
{
	(void)state;
	catalog = al_catalog_create();
	return 0;
}

static inline int destroy_catalog(void **state)
{
	(void)state;
	al_catalog_destroy(catalog);
	return 0;
}

/* Fails the test with the message of what failed. */
static inline void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}
