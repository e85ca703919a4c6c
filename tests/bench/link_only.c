/* Linked like attnledger and does nothing: what the libraries cost before any work. */
int main(void)
{
	return 0;
}
