"""Many runs at once against a provider that fails now and then: every run ends as its faults prescribe."""
