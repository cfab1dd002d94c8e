# The mock provider of this step wants a key, answers two requests, and then says once that there are too many.
MOCK_OPTIONS=${MOCK_OPTIONS:-'--require-key mock-key --fault ok,times=2;status=429,retry-after=1;then=ok'}
export AGENTLOOP_API_KEY=mock-key
