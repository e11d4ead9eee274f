//! The phrases that the planner understands, in both languages.
//!
//! A phrase is a regular expression for one whole clause, in which `{text}`, `{from}`, `{to}`, `{content}` and `{path}`
//! stand for one word or one quotation, `{place}` for words that tell where, and `{n}`, `{m}` for numbers. The first
//! phrase that fits wins, so the narrower ones stand first. Chinese clauses have no spaces beside Chinese characters.

use std::sync::LazyLock;

use regex::Regex;

use super::place::pattern;
use super::quotes::{QUOTE_CLASS, QUOTES};

/// What a phrase means; the parser makes a step of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Help,
    About,
    FileWork,
    SavedScript,
    Script,
    Run,
    DeleteNumbered,
    DeleteFirst,
    DeleteLast,
    DeleteContaining,
    DeleteEqual,
    DeleteEmpty,
    DeleteText,
    Overwrite,
    Replace,
    Create,
    Append,
    CountLines,
    FindAll,
    CountFiles,
    Count,
    FilesContaining,
    Search,
    ReadFirst,
    ReadLast,
    ReadRange,
    FindNamed,
    FindPlace,
    List,
    WhatIsIn,
    Read,
    Look,
}

/// Phrases with their meaning, narrower ones first.
const PHRASES: &[(Meaning, &[&str])] = &[
    (
        Meaning::Help,
        &[
            r"(?:help|what can you do|what do you (?:understand|know)|how does this work|what are you|who are you)(?: me)?",
            r"are you (?:a |an )?.+|(?:which|what) model (?:are you|is this|do you use)",
            r"(?:你能|你会|可以|能)(?:做|干)(?:些)?什么|帮助|你是谁|怎么用|你是(?:什么|哪个)?(?:语言)?模型",
        ],
    ),
    (
        Meaning::About,
        &[
            r"(?:what is|what's|tell me|explain)(?: to me)? (?:this|the|about this|about the) (?:project|repo|repository)(?: about)?|what does this (?:project|repo|repository) do|about this project",
            r"(?:这个|本)?(?:项目|工程|仓库)是(?:做什么|干什么|什么)的?|介绍(?:一下)?(?:这个|本)?(?:项目|工程|仓库)",
        ],
    ),
    (
        Meaning::DeleteEmpty,
        &[
            r"(?:delete|remove|drop|erase|strip)(?: all| every| any)?(?: of)?(?: the)? (?:empty|blank) lines? (?:from|in|of) {place}",
            r"(?:删除|删掉|去掉|移除){place}(?:中|里|里面|内部)?的?(?:所有|全部)?的?(?:空行|空白行)",
            r"(?:把|将|从|在){place}(?:中|里|里面|内部)?的?(?:所有|全部)?的?(?:空行|空白行)(?:都|全部|全)?(?:删除|删掉|去掉|移除)",
        ],
    ),
    (
        Meaning::DeleteNumbered,
        &[
            r"(?:delete|remove|drop|erase)(?: the)? lines? {n}(?: ?(?:-|–|to|through|until|and) ?{m})? (?:from|of|in) {place}",
            r"(?:删除|删掉|去掉|移除){place}的?第{n}(?:行?(?:到|至|-)第?{m})?行",
            r"(?:把|将|从|在){place}的?第{n}(?:行?(?:到|至|-)第?{m})?行(?:删除|删掉|去掉|移除)",
        ],
    ),
    (
        Meaning::DeleteFirst,
        &[
            r"(?:delete|remove|drop|erase)(?: the)? first(?: {n})? lines? (?:from|of|in) {place}",
            r"(?:删除|删掉|去掉|移除){place}的?(?:最)?前{n}行",
        ],
    ),
    (
        Meaning::DeleteLast,
        &[
            r"(?:delete|remove|drop|erase)(?: the)? last(?: {n})? lines? (?:from|of|in) {place}",
            r"(?:删除|删掉|去掉|移除){place}的?(?:最)?后{n}行",
        ],
    ),
    (
        Meaning::DeleteContaining,
        &[
            r"(?:delete|remove|drop|erase)(?: all| every| any)?(?: of)?(?: the)? lines? (?:containing|with|that (?:contains?|mentions?|has|have)|which contains?|matching|mentioning) {text} (?:from|in|of|under) {place}",
            r"(?:from|in) {place},? (?:delete|remove|drop|erase)(?: all| every| any)?(?: the)? lines? (?:containing|with|that contains?|matching|mentioning) {text}",
            r"(?:删除|删掉|去掉|移除){place}(?:中|里|里面|内部)的?(?:所有|全部)?(?:包含|含有|带有|有){text}的(?:所有|全部)?行",
            r"(?:从|把|将|在){place}(?:中|里|里面|内部)的?(?:删除|删掉|去掉|移除)?(?:所有|全部)?(?:包含|含有|带有|有){text}的(?:所有|全部)?行(?:都|全部)?(?:删除|删掉|去掉|移除)?",
        ],
    ),
    (
        Meaning::DeleteEqual,
        &[
            r"(?:delete|remove|drop|erase)(?: the)? line {text} (?:from|in|of) {place}",
            r"(?:从|把|在)?{place}(?:中|里)的?(?:删除|删掉|去掉)?{text}(?:这|那)一?行(?:删除|删掉|去掉)?",
        ],
    ),
    (
        Meaning::FileWork,
        &[
            r"(?:delete|remove|rm|erase|move|copy|duplicate)(?: the| this| a)? (?:file|folder|directory)(?: .+)?",
            r"(?:move|mv|copy|cp) \S+ (?:to|into) .+",
            r"rename(?: the)? (?:file|folder|directory) .+",
            r"rename \S+\.\w+ (?:to|as|into) \S+\.\w+",
            r"(?:delete|remove|rm|erase) [^\s,]+\.\w+",
            r"(?:create|make|mkdir)(?: a| the)?(?: new)? (?:folder|directory)(?: .+)?",
            r"(?:删除|删掉|移动|复制|重命名)(?:文件|目录|文件夹).*",
            r"(?:删除|删掉)\S+\.[A-Za-z0-9_]+",
            r"(?:创建|新建)(?:一个)?(?:目录|文件夹).*",
        ],
    ),
    (
        Meaning::SavedScript,
        &[
            r"(?:run|execute)(?: the| my| a)? saved script {text}",
            r"(?:运行|执行)(?:一下)?(?:已?保存的|存好的)脚本{text}",
        ],
    ),
    (
        Meaning::Script,
        &[
            r"(?:run|execute)(?: this| the following| a| the)?(?: short| small)?(?: javascript| js)? (?:script|code|javascript):? ?{content}",
            r"(?:运行|执行)(?:一下)?(?:这个|这段|如下|下面的?|以下)?(?:的)?(?:脚本|代码)[:：]?{content}",
        ],
    ),
    (
        Meaning::Run,
        &[
            r"(?:run|execute|start|compile|build|test|install|commit|push)(?: .+)?",
            r"(?:运行|执行|编译|安装|提交).*",
        ],
    ),
    (
        Meaning::Overwrite,
        &[
            r"overwrite(?: the)?(?: file)? {path} with(?: the)?(?: content| text)?:? ?{content}",
            r"(?:replace|set|change)(?: the)?(?: whole| entire| full)? (?:contents?|text) of(?: the)?(?: file)? {path} (?:with|by|to):? ?{content}",
            r"(?:write|put|save)(?: the)?(?: text| content| line| words?)? {content} (?:to|into|in)(?: a| the)?(?: new)?(?: file)?(?: named| called)? {path}",
            r"save {content} as(?: the file)? {path}",
            r"用{content}覆盖(?:文件)?{path}(?:文件)?(?:的内容)?",
            r"(?:把|将)(?:文本|内容|文字)?{content}(?:写入|写到|写进|保存到|存到)(?:文件)?{path}(?:文件)?(?:中|里)?",
            r"(?:在|往|向){path}(?:文件)?(?:中|里)?写(?:入|上)?{content}",
            r"写入{content}到{path}",
            r"(?:把|将){path}的(?:全部)?内容(?:替换|改|换)(?:成|为){content}",
        ],
    ),
    (
        Meaning::DeleteText,
        &[
            r"(?:delete|remove|erase|strip|cut|drop)(?: all| every| each| any)?(?: of)?(?: the)?(?: occurrences?| instances?| words?| text| string)?(?: of)?(?: the)?(?: words?| text| string)? {text}(?: (?:from|in|under|across) {place}| (?P<everywhere>everywhere))",
            r"(?:从|在){place}(?:中|里|里面|内部)?(?:删除|删掉|去掉|移除)(?:所有|全部)?的?{text}",
            r"(?:把|将){place}(?:中|里|里面|内部)的?(?:所有|全部)?的?{text}(?:都|全部|全)?(?:删除|删掉|去掉|移除)(?:掉)?",
            r"(?:删除|删掉|去掉|移除){place}(?:中|里|里面|内部)的?(?:所有|全部)?的?{text}",
        ],
    ),
    (
        Meaning::Replace,
        &[
            r"(?:in|across|throughout|under|within) {place},? (?:replace|substitute|change|swap|rename)(?: all| every| each| any)?(?: of)?(?: the)?(?: occurrences?| instances?| words?| text| string| name)?(?: of)? {from} (?:by|with|to|into|for) {to}",
            r"(?:replace|substitute|change|swap|rename|turn|convert|correct|update|fix)(?: all| every| each| any)?(?: of)?(?: the)?(?: occurrences?| instances?)?(?: of)?(?: the)?(?: words?| text| string| name| spelling| typo| function| variable| method| class| constant)? {from} (?:by|with|to|into|for|->|=>|→)(?: the)?(?: words?| text| string)? {to}(?: (?:in|under|inside|within|across|throughout|of|over) {place}| (?P<everywhere>everywhere))?",
            r"(?:replace|change|rename)(?: all| every| the)* {from} (?:in|under|inside|within|across) {place} (?:by|with|to|into) {to}",
            r"s/(?P<from>[^/\s]+)/(?P<to>[^/\s]+)/g?(?: (?:in|on) {place}| (?P<everywhere>everywhere))?",
            r"use {to} instead of {from}(?: (?:in|under|across) {place}| (?P<everywhere>everywhere))?",
            r"(?:在|把|将){place}(?:中|里|里面|内部|下)(?:的)?[，,]?(?:把|将)?(?:所有|全部)?的?{from}(?:都|全部|全都|全)?(?:替换|更改|修改|重命名|改名|改|换)(?:成|为|作){to}",
            r"(?:把|将)(?:所有|全部)?的?{from}(?:都|全部|全都|全)?(?:替换|更改|修改|重命名|改名|改|换)(?:成|为|作){to}[，,]?但?(?:只|仅)(?:限于?)?(?:在|对)?{place}",
            r"(?:(?:把|将)(?:所有|全部)?|所有|全部)的?{from}(?:都|全部|全都|全)?(?:替换|更改|修改|重命名|改名|改|换)(?:成|为|作){to}",
            r"用{to}(?:来)?(?:替换|代替|取代)(?:掉)?(?:{place}(?:中|里|里面|内部)的?)?(?:所有|全部)?的?{from}",
            r"替换{place}(?:中|里|里面|内部)的?(?:所有|全部)?的?{from}(?:成|为){to}",
            r"(?:替换|改|换)(?:所有|全部)?的?{from}(?:成|为){to}",
            r"(?:替换|改|换)(?:成|为){to}",
        ],
    ),
    (
        Meaning::Append,
        &[
            r"(?:append|add|put|write|insert)(?: a| the| another)?(?: new)?(?: line| text| word| entry)?(?: saying| reading| with)?:? {content} (?:to|at|on)(?: the)? (?:end|bottom) of(?: the)?(?: file)? {path}",
            r"(?:append|add|put|insert)(?: the)?(?: line| text)? {content} as(?: the| a)?(?: new)? last line (?:of|to|in)(?: the)?(?: file)? {path}",
            r"(?:append|add)(?: a| the| another)?(?: new)?(?: line| text| word| entry)?(?: saying| reading)?:? {content} (?:to|in|into)(?: the)?(?: file)? {path}",
            r"(?:append|add)(?: a| the| this)?(?: new)?(?: line| text)? to(?: the end of| the bottom of)?(?: the)?(?: file)? {path}(?: the)?(?: line| text)?(?:: ?| ){content}",
            r"in(?: the)?(?: file)? {path},? (?:append|add|put|insert)(?: a| the| another)?(?: new)?(?: line| text)?(?: at the (?:end|bottom))?:? ?{content}(?: at the (?:end|bottom))?",
            r"(?:append|add|put|insert|write)(?: a| the| another)?(?: new)?(?: line| text| word)?:? ?{content} (?:at|to)(?: the| its)? (?:end|bottom)(?: of it)?",
            r"在?(?:它的?|其|文件的?)?(?:末尾|最后|结尾|尾部|后面)(?:再)?(?:追加|添加|加上|加入|增加|补充|加|写)(?:上)?(?:一|1)?(?:行|句)?(?:文字|文本|内容)?[:：]?{content}",
            r"(?:at|to)(?: the)? (?:end|bottom) of(?: the)?(?: file)? {path},? (?:append|add|put|write)(?: a| the)?(?: line| text)? {content}",
            r"(?:在|给|向|往)(?:文件)?{path}(?:文件)?(?:的)?(?:末尾|最后|结尾|尾部|后面|里|中)?(?:再)?(?:追加|添加|加上|加入|增加|补充|加|写)(?:上)?(?:一|1)?(?:行|句)?(?:文字|文本|内容)?[:：]?{content}",
            r"(?:把|将){content}(?:这一行|这行|一行)?(?:追加|添加|加|补充)(?:到|在|进)(?:文件)?{path}(?:文件)?(?:的)?(?:末尾|最后|结尾|尾部|后面|里|中)?",
            r"(?:追加|添加)(?:一行)?{content}到(?:文件)?{path}(?:文件)?(?:的)?(?:末尾|最后|里|中)?",
        ],
    ),
    (
        Meaning::Create,
        &[
            r"(?:create|make|add|write|generate)(?: a| an| the)?(?: new)?(?: empty| text)?(?: file)?(?: named| called)? {path} (?:in|under|inside) {place}(?:,? (?:with|containing|that (?:says|contains)|saying)(?: the)?(?: following)?(?: contents?| text| lines?| words?)?:? ?{content})?",
            r"在{place}(?:中|里|里面|下|下面)(?:创建|新建|建立|生成)(?:一个)?(?:新)?的?(?:空)?(?:的)?(?:文件)?(?:叫做?|名为)?(?:的)?{path}(?:文件)?(?:[，,]?(?:并且?)?(?:在)?(?:里面|其)?(?:内容)?(?:为|是|写入|写上|写|包含)[:：]?{content})?",
            r"(?:create|make|add|write|generate)(?: a| an| the)?(?: new)?(?: empty| text)? file(?: named| called)? {path}(?:,? (?:with|containing|that (?:says|contains)|saying|whose (?:content|text) is)(?: the)?(?: following)?(?: contents?| text| lines?| words?)?:? ?{content})?",
            r"(?:create|make|write|generate)(?: a| an| the)?(?: new)? {path},? (?:with|containing|that (?:says|contains)|saying)(?: the)?(?: following)?(?: contents?| text| lines?| words?)?:? ?{content}",
            r"(?:create|make|write)(?: a| the)?(?: new)?(?: file)? {path}: ?{content}",
            r"(?:create|make|touch|generate) {path}",
            r"(?:创建|新建|建立|生成)(?:一个)?(?:新)?的?(?:空)?(?:的)?(?:文件)?(?:叫做?|名为)?(?:的)?{path}(?:的)?(?:文件)?[，,]?(?:并且?)?(?:在)?(?:里面|其)?(?:内容)?(?:为|是|写入|写上|写|包含)[:：]?{content}",
            r"(?:创建|新建|建立|生成)(?:一个)?(?:内容为|内容是|包含){content}的(?:新)?(?:文件)?{path}(?:文件)?",
            r"(?:创建|新建|建立|生成)(?:一个)?(?:新)?的?(?:空)?(?:的)?(?:文件)?(?:叫做?|名为)?(?:的)?{path}(?:的)?(?:文件)?",
        ],
    ),
    (
        Meaning::CountLines,
        &[
            r"(?:count|how many)(?: of)?(?: all)?(?: the)?(?: number of)? lines(?: are there)?(?: are)? (?:in|of) {place}",
            r"how many lines does {place} have",
            r"{place}(?:一共|总共)?有(?:多少|几)行",
            r"(?:统计|数一下|数){place}的?行数",
        ],
    ),
    (
        Meaning::FindAll,
        &[
            r"(?:list|show|find)(?: me)?(?: all)?(?: of)?(?: the)? files recursively(?: (?:in|of|under|below) {place})?",
            r"(?:list|show)(?: me)?(?: recursively)(?: all)?(?: the)? files(?: (?:in|of|under|below) {place})?",
            r"(?:list|show|give)(?: me)?(?: an overview of)?(?: all)?(?: the)?(?: whole| entire| full)? (?:file |folder |directory |project )?(?:tree|structure|layout)",
            r"(?:list|show|print)(?: me)?(?: the)? names of(?: all)?(?: the)? files",
            r"(?:看看|查看|看|显示|列出)?(?:整个|当前)?(?:项目|工程|目录|文件)的?(?:目录|文件)?(?:结构|树)",
            r"递归(?:地)?列出(?:{place}(?:下|里|中)的?)?(?:所有|全部)?的?文件",
        ],
    ),
    (
        Meaning::CountFiles,
        &[
            r"how many {place} (?:are|is)(?: there)? (?:in|under|below) (?P<folder>.+)",
            r"(?:how many|count)(?: of)?(?: all)?(?: the)? {place}(?: (?:are|is) (?:there|here)| do (?:we|i) have| exist)?",
            r"how many(?P<files> files?)(?: are there| are)? (?:in|under) {place}",
            r"{place}(?:里|中|下|里面)?(?:一共|总共)?有(?:多少|几)个(?P<files>文件)",
            r"(?P<folder>.+?)(?:里面|里|中|下)(?:一共|总共)?有(?:多少|几)个{place}",
            r"(?:一共|总共)?有?(?:多少|几)个{place}",
            r"{place}(?:一共|总共)?有(?:多少|几)个",
            r"(?:统计|数一下|数){place}的?(?:数量|个数|数目)",
        ],
    ),
    (
        Meaning::Count,
        &[
            r"(?:how (?:often|many times)|count how (?:often|many times)) (?:does |do |is |are )?(?:the )?(?:word |text |string )?{text}(?: (?:occurs?|appears?|used|mentioned|found|comes? up))?(?: (?:in|under|across) {place}| (?P<everywhere>everywhere))?",
            r"(?:count|how many)(?: all| every)?(?: the)?(?: number of)?(?: occurrences?| instances?| matches| uses| times| lines)?(?: of| for| with| containing)?(?: the)?(?: word| text| string)? {text}(?: (?:are there|occurs?|appears?))?(?: (?:in|under|across) {place}| (?P<everywhere>everywhere))?",
            r"(?:in|under|across) {place},? (?:count|how often does)(?: all)?(?: the)?(?: occurrences| matches)?(?: of| for)? {text}(?: occur| appear)?",
            r"(?:统计|数一下|数|计算)(?:一下)?{text}在{place}(?:中|里|里面|内部)(?:一共|总共)?(?:出现)?(?:了)?的?(?:多少次|几次|次数|数量|个数)",
            r"(?:统计|数一下|数|计算|看看)(?:一下)?在?{place}(?:中|里|里面|内部)的?{text}(?:一共|总共)?(?:出现)?(?:了)?的?(?:多少次|几次|次数|数量|个数)",
            r"(?:统计|数一下|数|计算)(?:一下)?{text}(?:一共|总共)?(?:出现)?(?:了)?的?(?:多少次|几次|次数|数量|个数)",
            r"在?{place}(?:中|里|里面|内部)的?{text}(?:一共|总共)?出现(?:了)?(?:多少|几)次",
            r"{text}在{place}(?:中|里|里面|内部)(?:一共|总共)?出现(?:了)?(?:多少|几)次",
            r"{text}(?:一共|总共)?出现(?:了)?(?:多少|几)次",
        ],
    ),
    (
        Meaning::FilesContaining,
        &[
            r"(?:which|what) (?:of the )?files?(?: (?:in|under) {place})? (?:contains?|mentions?|uses?|have|has|includes?|references?|defines?)(?: the)?(?: word| text| string)? {text}",
            r"(?:which|what|how many) (?:of the )?files? (?:contains?|mentions?|uses?|have|has|includes?|references?|defines?)(?: the)?(?: word| text| string)? {text}(?: (?:in|under) {place})?",
            r"do(?:es)? any(?: of the)? files?(?: (?:in|under) {place})? (?:contain|mention|use|have|include|reference)(?: the)?(?: word| text| string)? {text}",
            r"(?:find|list|show|give)(?: me)?(?: all)?(?: of)?(?: the)? files (?:containing|that (?:contain|mention|use|have|include)|which contain|with|mentioning|using)(?: the)?(?: word| text| string)? {text}(?: (?:in|under) {place})?",
            r"(?:在{place}(?:中|里|下)?)?(?:有)?哪些文件(?:里|中)?(?:面)?(?:包含|含有|用到|提到|使用|出现|有)(?:了)?{text}",
            r"(?:查找|找出|找到|列出|搜索|找)在?{place}(?:中|里|下|里面)的?(?:所有|全部)?(?:包含|含有|提到|有)了?{text}的(?:所有|全部)?文件",
            r"(?:在{place}(?:中|里|下)?)?(?:查找|找出|找到|找|列出|搜索)(?:所有|全部)?(?:包含|含有|提到|有)(?:了)?{text}的(?:所有|全部)?文件",
        ],
    ),
    (
        Meaning::Search,
        &[
            r"(?:find|list|show|get|search for)(?: me)?(?: all| every)?(?: of)?(?: the)? (?P<text>(?-i:TODO|FIXME|HACK|XXX))s(?: (?:in|under) {place})?",
            r"(?:find|show|list|search for)(?: me)?(?: all| every)?(?: of)?(?: the)? (?:places?|lines?|spots?) where(?: we| i| you| they)? (?:uses?|mentions?|have|say|write) {text}(?: (?:in|under) {place}| (?P<everywhere>everywhere))?",
            r"(?:show|list|find|print|search|grep|get)(?: me)?(?: for)?(?: all)?(?: of)?(?: the)? lines? (?:containing|with|that (?:contains?|mentions?|has|have)|which contain|matching|mentioning) {text}(?: (?:in|of|from|under) {place}| (?P<everywhere>everywhere))?",
            r"(?:search|grep|look|scan|hunt)(?: through)?(?: for)?(?: all| every)?(?: the)?(?: occurrences?| instances?| uses?| mentions?)?(?: of)?(?: the)?(?: words?| text| string)?(?: (?P<regex>regex|regexp|pattern|regular expression))? {text}(?: (?:in|under|inside|within|across|through) {place}| (?P<everywhere>everywhere))?",
            r"(?:search|grep|scan|look) (?:in |through |inside )?{place} for(?: the)?(?: words?| text| string)?(?: (?P<regex>regex|regexp|pattern|regular expression))? {text}",
            r"(?:in|under|across) {place},? (?:search|look|grep)(?: for)? {text}",
            r"(?:find|locate)(?: all| every| me)*(?: of)?(?: the)?(?: (?:occurrences?|instances?|uses?|mentions?|places?) (?:of|with|where))?(?: the)?(?: words?| text| string| function| method| class| variable)?(?: (?P<regex>regex|regexp|pattern|regular expression))? {text} (?:(?:in|under|inside|within|across) {place}|(?P<everywhere>everywhere))",
            r"(?:find|locate)(?: all| every| me)*(?: of)?(?: the)?(?: (?:occurrences?|instances?|uses?|mentions?) of)(?: the)?(?: words?| text| string)? {text}",
            r"(?:find|locate)(?: all)?(?: the)? (?:word|text|string|(?P<regex>regex|regexp|pattern|regular expression)) {text}",
            r"grep(?: -[rRnE]+)*(?: for)? {text} {place}",
            r"(?:how many|count(?: the)?) lines (?:contain|mention|have|containing|with|mentioning)(?: the)?(?: word| text)? {text}(?: (?:in|of) {place})?",
            r"find(?: out)? where(?: the)?(?: word| text| function)? {text} (?:is|are)(?: being)? (?:used|defined|mentioned)(?: in {place})?",
            r"(?:find|list|show|get)(?: me)?(?: all| every)?(?: of)?(?: the)? {text} (?:comments?|markers?|notes)(?: (?:in|under) {place})?",
            r"where (?:do|does|did) (?:we|i|you|they|it) (?:use|mention|define|call)(?: the)?(?: words?| text| function)? {text}(?: in {place})?",
            r"where (?:is|are|do (?:we|i) use|does)(?: the)?(?: words?| text)? {text} (?:used|defined|mentioned|occur|appear)(?: in {place})?",
            r"(?:does|is) {text} (?:occur|appear|used|mentioned)(?: anywhere)?(?: in {place})?",
            r"(?:在|从){place}(?:中|里|里面|内部|下)?[，,]?(?:搜索|搜一下|搜|查找|查一下|找一下|找出|找)(?:所有|全部)?的?(?:(?P<regex>正则(?:表达式)?))?(?:包含|含有)?{text}(?:的(?:行|地方))?",
            r"(?:搜索|搜一下|搜|查找|查一下|找出|找){place}(?:中|里|里面|内部)的?(?:所有|全部)?的?(?:包含|含有)?{text}(?:的(?:所有|全部)?(?:行|地方))?",
            r"(?:搜索|搜一下|搜|查找|查一下|找出|找)(?:一下)?(?:所有|全部)?的?(?:包含|含有){text}的(?:所有|全部)?(?:行|地方)",
            r"(?:在)?(?:哪些地方|哪里|哪儿|什么地方)(?:用到|使用|出现|提到|定义|引用|用)(?:了|过)?{text}",
            r"{place}(?:里|中)(?:面)?(?:有没有|是否)?(?:提到|提及|包含|出现|用到)(?:过|了)?{text}了?",
            r"(?:搜索|搜一下|搜)(?:一下)?(?:(?P<regex>正则(?:表达式)?))?{text}",
            r"{text}在(?:哪里|哪儿|什么地方)(?:被)?(?:用到|使用|定义|出现)(?:了|过)?",
        ],
    ),
    (
        Meaning::ReadFirst,
        &[
            r"(?:read|show|print|display|give|get|view)(?: me)?(?: only| just)?(?: the)? (?:first|top)(?: {n})? lines? (?:of|from|in) {place}",
            r"head(?: -n)? ?-?{n} {place}",
            r"(?:读取|读|查看|看看|看|显示|打开){place}的?(?:最)?(?:前|开头){n}行",
        ],
    ),
    (
        Meaning::ReadLast,
        &[
            r"(?:read|show|print|display|give|get|view)(?: me)?(?: only| just)?(?: the)? last(?: {n})? lines? (?:of|from|in) {place}",
            r"tail(?: -n)? ?-?{n} {place}",
            r"(?:读取|读|查看|看看|看|显示|打开){place}的?(?:最)?后{n}行",
        ],
    ),
    (
        Meaning::ReadRange,
        &[
            r"(?:read|show|print|display|give|get|view)(?: me)?(?: only| just)?(?: the)? lines? {n}(?: ?(?:-|–|to|through|until) ?{m})? (?:of|from|in) {place}",
            r"(?:read|show|print|display|view) {place},? (?:from )?lines? {n}(?: ?(?:-|–|to|through|until) ?{m})?",
            r"(?:读取|读|查看|看看|看|显示|打开){place}的?第{n}(?:行?(?:到|至|-)第?{m})?行",
        ],
    ),
    (
        Meaning::FindNamed,
        &[
            r"(?:在{place}(?:中|里|里面|内部|下)?)?(?:查找|找出|找到|找一下|寻找|搜索|找)(?:一下)?(?:所有|全部)?的?(?:名为|名叫|叫做?|名字(?:是|叫|为)|文件名(?:为|是))(?:的)?{path}(?:的)?(?:文件)?",
            r"(?:查找|找出|找到|找一下|寻找|找)(?:一下)?文件{path}",
            r"(?:文件)?{path}(?:文件)?在(?:哪里|哪儿|哪|什么地方)",
        ],
    ),
    (
        // Also after others were found: without more words all are meant.
        Meaning::List,
        &[
            r"(?:list|ls|show|display)(?: me)?(?: all)?(?: of)?(?: the)? files(?: (?:there|here))?",
            r"(?:列出|显示)(?:一下)?(?:所有|全部)?的?文件",
        ],
    ),
    (
        Meaning::FindPlace,
        &[
            r"(?:find|locate|list|show|get|ls|look for|search for)(?: me)?(?: all| every)?(?: of)?(?: the)? {place}",
            r"(?:which|what) {place} (?:are there|exist|do we have|are in here)",
            r"(?:查找|找出|找到|找一下|寻找|搜索|列出|显示|找)(?:一下)?(?:所有|全部)?的?{place}",
            r"(?:在{place}(?:中|里|下)?)(?:查找|找出|找到|找一下|寻找|找|列出)(?:所有|全部)?的?{path}(?:文件)?",
        ],
    ),
    (
        Meaning::FindNamed,
        &[
            r"(?:find|locate|look for|search for|list|show)(?: me)?(?: all| every| any)?(?: of)?(?: the)? (?:files?|folders?) (?:named|called|with (?:the )?name|matching|whose name is|like) {path}(?: (?:in|under|inside|below) {place})?",
            r"(?:find|locate)(?: the)? (?:file|folder|directory) {path}(?: (?:in|under|inside|below) {place})?",
            r"(?:查找|找出|找到|找一下|寻找|找)(?:一下)?{path}文件",
            r"(?:find|locate)(?: all| me)?(?: the)? {path} files?(?: (?:in|under) {place})?",
            r"where (?:is|are)(?: the)?(?: file| folder)? {path}(?: located| stored)?",
            r"(?:is|are) there(?: a| any)? files? (?:named|called|like) {path}(?: (?:in|under) {place})?",
            r"有没有(?:名为|名叫|叫做?)的?{path}的?文件",
        ],
    ),
    (
        Meaning::List,
        &[
            r"(?:list|ls|show|display|give|print|get)(?: me)?(?: a list of)?(?: all)?(?: of)?(?: the)? (?:files?(?: and (?:folders|directories))?|folders?|entries|contents?(?: of the folder)?|directory(?: listing)?|everything)(?: (?:there|here))?(?: (?:in|of|under|inside|from) {place})?",
            r"(?:what|which) files (?:do (?:you|we|i) (?:have|see)|can you see)(?: there| here)?(?: (?:in|under) {place})?",
            r"(?:list|ls|dir)",
            r"(?:list|ls|dir) {place}",
            r"(?:what|which) (?:files|folders|files and folders)(?: are| do we have| exist)?(?: there| here)?(?: (?:are )?(?:in|under|inside) {place})?",
            r"(?:列出|列一下|列|显示|看看|查看|看一下)(?:一下)?(?:当前|项目|根)?(?:目录|文件夹)?(?:下|里|中)?的?(?:所有|全部)?的?(?:文件(?:和目录|和文件夹)?|目录|内容)(?:列表)?",
            r"(?:看看|查看|列出|显示)?{place}(?:下面|里面|下|里|中)(?:都)?有(?:什么|哪些)(?:文件|东西|内容)?",
            r"(?:列出|列一下|显示|看看|查看|看一下)(?:一下)?{place}(?:下|里|中|里面)?的?(?:所有|全部)?的?(?:文件|内容)(?:列表)?",
            r"(?:列出|列一下){place}",
            r"(?:这里|项目|项目里|当前目录)?有(?:什么|哪些)(?:文件|东西)?",
        ],
    ),
    (
        Meaning::WhatIsIn,
        &[
            r"(?:(?:show|tell|list)(?: me)? )?(?:what is|what's|whats|what are) (?:there )?(?:in|inside|under|in the) {place}",
            r"what does {place} (?:say|contain|look like)",
            r"(?:看看|看一下|查看|告诉我)?{place}(?:下|里|中|里面|下面)?(?:都)?(?:有|写了|是)(?:什么|哪些)(?:文件|东西|内容)?",
        ],
    ),
    (
        Meaning::Read,
        &[
            r"(?:read|show|open|print|display|cat|view|look at|look into|check)(?: me)?(?: through)?(?: (?:all|all of|both))?(?: the)?(?: (?:whole |full )?(?:contents?|text) of)? {place}",
            r"(?:把|将){place}的?(?:内容)?(?:读|显示|打印|打开)(?:出来|给我看)?",
            r"(?:给我)?(?:读取|读一下|读一读|阅读|读|查看|看看|看一下|看|打开|显示)(?:一下)?{place}(?:的)?(?:内容|全文|文本)?",
        ],
    ),
    (
        Meaning::Look,
        &[
            r"(?:find|locate|look for|search for|where (?:is|are))(?: all)?(?: the)? {text}",
            r"(?:查找|找一下|寻找|找到|找出|找|查一下)(?:一下)?{text}",
        ],
    ),
];

/// The compiled phrases, in their order.
pub(super) static RULES: LazyLock<Vec<(Meaning, Regex)>> = LazyLock::new(|| {
    let phrases = PHRASES
        .iter()
        .flat_map(|(meaning, texts)| texts.iter().map(move |text| (*meaning, text)));
    phrases
        .map(|(meaning, text)| (meaning, pattern(&expand(text))))
        .collect()
});

fn expand(phrase: &str) -> String {
    // A word of a text is Chinese or it is not: a mixed one would swallow words that belong to the sentence. Names may
    // be mixed.
    let word = format!(r"{QUOTE_CLASS}|[^\s,，。；;、\p{{Han}}{QUOTES}]+?|\p{{Han}}{{1,8}}?");
    let path = format!(r"{word}|[^\s,，。；;、{QUOTES}]+?\.[A-Za-z0-9_]{{1,12}}");
    let mut text = phrase.to_owned();
    for (name, word) in [
        ("text", &word),
        ("from", &word),
        ("to", &word),
        ("content", &word),
        ("path", &path),
    ] {
        text = text.replace(&format!("{{{name}}}"), &format!("(?P<{name}>{word})"));
    }
    for name in ["n", "m"] {
        let number =
            r"\d+|[一二两三四五六七八九十]+|one|two|three|four|five|six|seven|eight|nine|ten|twenty|few|几";
        text = text.replace(&format!("{{{name}}}"), &format!("(?P<{name}>{number})"));
    }
    text.replace("{place}", "(?P<place>.+?)")
}
