return [typeof script, typeof anonymous];
