console.log("one \ud83d", "two \ude00", "whole \u{1f600}");
String.prototype.toWellFormed = () => "fooled";
return { "key \ud83d": ["\ude00 end", new Map([["\udc00", 1]])] };
