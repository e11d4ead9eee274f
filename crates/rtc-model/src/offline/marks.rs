//! The words between and around clauses: what parts them, and what says nothing of its own.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{pattern, pattern_anywhere};

/// What stands before an entry of a list.
pub(super) static BULLET: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r"(?m)^[ \t]*(?:\d{1,3}[.)、]|[-*•])[ \t]+"));

/// What always ends a clause.
pub(super) static CLAUSE_END: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"[\r\n]+|\s*[;；。！？]\s*|[.!?](?:\s+|$)|,?\s*\b(?:and )?(?:then|after that|afterwards|finally)\b,?\s*|[,，]?\s*(?:然后再?|接着再?|随后)[,，]?\s*|[,，]\s*(?:之后|最后)再?[,，]?\s*",
    )
});

/// What ends a clause if a verb follows.
pub(super) static CLAUSE_JOIN: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(r",\s*(?:and\s+)?|\s+(?:and|&|plus)\s+|\s*[，、]\s*(?:并且|并|再|同时|和)?|并且|并|同时")
});

/// How a clause begins, for the rule above.
pub(super) static VERB: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"^(?:(?:please|also|now|next|then|finally|just)\s+)*(?:(?:list|ls|show|display|print|read|open|cat|view|look|check|find|locate|search|grep|scan|replace|substitute|change|swap|rename|turn|convert|correct|update|fix|use|create|make|write|put|save|append|add|insert|overwrite|delete|remove|drop|erase|strip|count|how many|how often|which|what|where|tell|set|run|execute|touch|generate|move|copy)\b|请|再|列出|列一下|显示|看看|查看|看一下|读|阅读|打开|查找|找|搜|替换|换成|改成|改为|换为|把|将|用|创建|新建|在|给|往|向|从|追加|添加|删除|删掉|去掉|移除|统计|数|计算|运行|执行|有多少|有哪些|哪些)",
    )
});

/// A part of a clause that only tells where; the comma behind it does not end the clause.
pub(super) static ONLY_WHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"^\s*(?:(?:in|within|across|throughout|under|at|to|from) [^,]+|(?:在|从)[^，,]+?(?:中|里|里面|内部|下|目录|文件夹))\s*$",
    )
});

/// Polite words and others before a clause that change nothing.
pub(super) static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"^(?:(?:please|pls|kindly|first|firstly|second|secondly|next|then|now|also|finally|lastly|and|just|ok|okay|so|hi|hello|hey|hi there)\b[,:!]?\s*|(?:can|could|would|will) you(?: please)? |i(?: would|'d) like you to |i(?: want| need)(?: you)? to |go and |go through |let's |try to |help me(?: to)? |tell me |你好[，,]?|请你?|麻烦你?|帮我|帮忙|首先|先|第一步[，,:：]?|第二步[，,:：]?|第三步[，,:：]?|然后|接着|再|最后|并且?|同时|能不能|能否|可以|可否|一共|总共|我想要?|我要|告诉我)",
    )
});

/// Polite words and marks after a clause that change nothing.
pub(super) static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"(?:[,\s]+(?:only|please|thanks|thank you|for me|now)|[,，]?谢谢|吧|一下|吗|呢|[.!?！？。,，:：]|\s)$",
    )
});

/// Words after a search that make upper and lower case the same.
pub(super) static IGNORE_CASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r",?\s*\(?(?:ignoring (?:the )?case|ignore case|case[- ]insensitive(?:ly)?|in any case|regardless of case)\)?|[，,（(]?(?:不区分大小写|忽略大小写)地?[）),，]?",
    )
});

/// A message, or a part of one, that asks for nothing.
pub(super) static GREETING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:hi|hello|hey|good (?:morning|evening)|thanks|thank you|cheers|great|ok|okay|bye)(?: there| a lot| very much)?|你好|您好|谢谢|多谢|好的|好",
    )
});

/// A message that means: go on with what is unfinished.
pub(super) static CONTINUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:please )?(?:continue|go on|carry on|keep going|resume|proceed|go ahead)(?: please)?|请?(?:继续|接着(?:做|来)?|往下做)(?:吧|做|执行)?",
    )
});

/// Words that stand for the text of the step before.
pub(super) static IT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"it|them|that|this|these|those|(?:all|each) of them|它|它们|其|这个|那个|全部|都")
});

/// Words that narrow a place down, and the ones that say so plainly.
pub(super) static ONLY_IN: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r",? (?:but )?(?:only|just) (?P<preposition>in|under|inside|within) "));

/// A Chinese verb that is softened; the plain verb takes its place.
pub(super) static SOFTENED: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(r"(?P<verb>读取|读|查看|看|列出|列|找|搜索|搜|查找|查|数|统计|显示|打开)一下")
});

/// Words that announce one line, up to the end of the user's line.
pub(super) static LINE_FOLLOWS: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"(?:\b(?:append|add|insert|put)(?: a| the| this| one)?(?: new| following)? (?:line|sentence)(?: [^:\n]*)?|(?:加|追加|添加|增加|写)[上入]?(?:一|这一|这)?[行句]话?):$|(?:加|追加|添加|增加|写)[上入]?(?:一|这一|这)?[行句]话?：$",
    )
});
