"""The vendors' own webhooks, as published, beside dragoman's: same reviews, same machine."""
