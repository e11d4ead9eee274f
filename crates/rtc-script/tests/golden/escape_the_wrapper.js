})(); leaked = 1; (async () => {
