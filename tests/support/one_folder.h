/* The folder of a group of tests that needs nothing else: cmocka makes it before the first of them
 * and removes it after the last. */
#pragma once

#include "support/folder.h"

static struct test_folder folder;

static int make_folder(void **state)
{
	(void)state;
	test_folder_make(&folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	test_folder_remove(&folder);
	return 0;
}
