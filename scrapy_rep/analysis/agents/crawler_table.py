# ruff: noqa: E501 - a crawler a line
"""Known crawlers, by a list of 2026-11-21. Made by `python docs/make_agents.py`.

Columns: token; operator; purpose; whether it obeys; whether it obeys Crawl-delay; whether it reads
wildcards; the source of these statements and its date; flags; the token of the group that it takes
before ``*``; the fields that are from memory; other spellings.
"""

DATED = "2026-11-21"

ROWS = """\
Googlebot | Google | search | yes | no | yes | operator 2026-09-22 | - | - | - | -
Googlebot-Image | Google | search | yes | no | yes | operator 2026-09-22 | - | Googlebot | - | -
Googlebot-Video | Google | search | yes | no | yes | operator 2026-09-22 | - | Googlebot | fallback | -
Googlebot-News | Google | search | yes | no | yes | operator 2026-09-22 | - | Googlebot | fallback | -
Googlebot-Mobile | Google | search | yes | no | yes | list 2026-07-02 | obsolete | Googlebot | fallback | -
Storebot-Google | Google | search | yes | no | yes | operator 2026-09-22 | - | - | - | -
Google-InspectionTool | Google | other | yes | no | yes | operator 2026-09-22 | asked | Googlebot | fallback | -
GoogleOther | Google | other | yes | no | yes | operator 2026-09-22 | - | - | - | -
GoogleOther-Image | Google | other | yes | no | yes | operator 2026-09-22 | - | GoogleOther | fallback | -
GoogleOther-Video | Google | other | yes | no | yes | operator 2026-09-22 | - | GoogleOther | fallback | -
Google-CloudVertexBot | Google | ai-search | yes | no | yes | operator 2026-09-22 | - | Googlebot | - | CloudVertexBot
Google-Extended | Google | ai-training | yes | no | yes | operator 2026-09-22 | policy | - | - | -
AdsBot-Google | Google | ads | own-group-only | no | yes | operator 2026-02-11 | - | - | - | -
AdsBot-Google-Mobile | Google | ads | own-group-only | no | yes | operator 2026-02-11 | - | - | - | -
AdsBot-Google-Mobile-Apps | Google | ads | own-group-only | no | yes | operator 2026-02-11 | obsolete | AdsBot-Google | - | -
Mediapartners-Google | Google | ads | own-group-only | no | yes | operator 2026-02-11 | - | - | - | Mediapartners-Google*
APIs-Google | Google | other | own-group-only | no | yes | operator 2026-02-11 | - | - | - | -
Google-Safety | Google | other | no | no | unknown | operator 2026-02-11 | - | - | - | -
DuplexWeb-Google | Google | other | own-group-only | unknown | unknown | operator 2026-02-11 | obsolete | - | - | -
googleweblight | Google | other | no | unknown | unknown | operator 2026-02-11 | asked obsolete | - | - | -
FeedFetcher-Google | Google | feed | no | unknown | unknown | operator undated | asked | - | - | Feedfetcher-Google
Google-Agent | Google | ai-user-fetch | no | unknown | unknown | operator undated | asked | - | - | -
Google-GeminiNotebook | Google | ai-user-fetch | no | unknown | unknown | operator undated | asked | - | - | -
Google-NotebookLM | Google | ai-user-fetch | no | unknown | unknown | operator undated | asked obsolete | - | - | NotebookLM
Google-CWS | Google | other | no | unknown | unknown | operator undated | asked | - | - | -
Google-Read-Aloud | Google | other | no | unknown | unknown | list 2026-07-02 | asked | - | - | -
Google-Site-Verification | Google | other | no | unknown | unknown | list 2026-07-02 | asked | - | - | -
GoogleProducer | Google | feed | no | unknown | unknown | list 2026-07-02 | asked | - | - | -
Google-Pinpoint | Google | other | no | unknown | unknown | list 2026-07-02 | asked | - | - | -
GoogleMessages | Google | preview | no | unknown | unknown | list 2026-07-02 | asked | - | - | -
Gemini-Deep-Research | Google | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
GoogleAgent-URLContext | Google | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
GoogleAgent-Mariner | Google | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked obsolete | - | - | -
Google-Firebase | Google | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
bingbot | Microsoft | search | yes | yes | yes | operator undated | - | msnbot | wildcards | -
adidxbot | Microsoft | ads | unknown | unknown | unknown | operator undated | - | - | - | AdIdxBot
BingPreview | Microsoft | preview | unknown | unknown | unknown | operator undated | obsolete | - | - | -
MicrosoftPreview | Microsoft | preview | unknown | unknown | unknown | list undated | asked | - | - | -
BingVideoPreview | Microsoft | preview | unknown | unknown | unknown | list undated | - | - | - | -
msnbot | Microsoft | search | yes | yes | unknown | operator 2009-08-10 | obsolete | - | - | -
msnbot-media | Microsoft | search | unknown | unknown | unknown | memory | obsolete | - | - | -
msrbot | Microsoft Research | research | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | -
SkypeUriPreview | Microsoft | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
AzureAI-SearchBot | Microsoft | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Yandex | Yandex | search | yes | no | yes | operator undated | - | - | - | -
YandexBot | Yandex | search | yes | no | yes | operator undated | - | Yandex | - | -
YandexImages | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexVideo | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexMedia | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexBlogs | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexMarket | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexPagechecker | Yandex | other | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexRenderResourcesBot | Yandex | search | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexWebmaster | Yandex | other | yes | no | yes | list 2026-07-02 | - | Yandex | obeys | -
YandexAdditional | Yandex | ai-search | yes | no | unknown | list 2026-08-22 | - | Yandex | - | YandexAdditionalBot
YandexAccessibilityBot | Yandex | other | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexMobileBot | Yandex | other | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexFavicons | Yandex | other | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexCalendar | Yandex | feed | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexNews | Yandex | search | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexDirect | Yandex | ads | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YaDirectFetcher | Yandex | ads | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
YandexMetrika | Yandex | other | own-group-only | no | unknown | list 2026-07-02 | - | - | - | -
Baiduspider | Baidu | search | yes | no | yes | operator undated | - | - | crawl_delay wildcards | -
Baiduspider-image | Baidu | search | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-video | Baidu | search | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-news | Baidu | search | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-favo | Baidu | other | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-cpro | Baidu | ads | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-ads | Baidu | ads | yes | unknown | unknown | operator undated | - | - | - | -
Baiduspider-render | Baidu | search | unknown | unknown | unknown | memory | - | - | - | -
YiyanBot | Baidu | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
Yeti | Naver | search | yes | unknown | unknown | list 2026-07-02 | - | - | - | YetiBot
NaverBot | Naver | search | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | Naverbot
Daumoa | Kakao | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | Daum
SeznamBot | Seznam | search | yes | unknown | yes | operator 2025-01-29 | - | - | wildcards | -
SeznamHomepageCrawler | Seznam | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
DuckDuckBot | DuckDuckGo | search | yes | unknown | unknown | operator 2025-04 | - | - | - | DuckDuckBot-Https
DuckAssistBot | DuckDuckGo | ai-user-fetch | yes | unknown | unknown | operator 2025-04 | asked | - | - | -
Applebot | Apple | search | yes | no | unknown | operator 2026-09-04 | - | Googlebot | - | -
Applebot-Extended | Apple | ai-training | yes | unknown | unknown | operator 2026-09-04 | policy | - | - | -
iTMS | Apple | other | no | unknown | unknown | operator 2026-09-04 | - | - | - | -
Qwantbot | Qwant | search | yes | unknown | unknown | operator undated | - | - | - | Qwantbot-prod
Qwantbot-news | Qwant | search | yes | unknown | unknown | operator undated | - | - | - | -
Qwantify | Qwant | search | yes | unknown | unknown | operator undated | obsolete | - | - | Qwantify-news, Qwantify-junior
MojeekBot | Mojeek | search | yes | no | unknown | operator undated | - | - | - | -
PetalBot | Huawei | search | yes | unknown | unknown | operator undated | - | - | - | -
Sogou web spider | Sogou | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | Sogou, Sogou spider, Sogou inst spider, Sogou News Spider, Sogou Pic Spider
360Spider | Qihoo 360 | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | HaosouSpider
YisouSpider | Shenma (Alibaba) | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
coccocbot | Coc Coc | search | yes | yes | unknown | operator undated | - | - | - | coccoc
coccocbot-web | Coc Coc | search | yes | yes | unknown | operator undated | - | coccocbot | - | -
coccocbot-image | Coc Coc | search | yes | yes | unknown | operator undated | - | coccocbot | - | -
coccocbot-fast | Coc Coc | search | yes | yes | unknown | operator undated | - | coccocbot | - | -
coccocbot-shopping | Coc Coc | search | yes | yes | unknown | operator undated | - | coccocbot | - | -
coccocbot-ads | Coc Coc | ads | yes | yes | unknown | operator undated | - | coccocbot | - | -
Mail.RU_Bot | VK (Mail.ru) | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | Mail.Ru
Slurp | Yahoo | search | unknown | yes | unknown | list 2026-07-02 | - | - | crawl_delay | Yahoo! Slurp
Bravebot | Brave | search | yes | unknown | unknown | list 2026-08-22 | - | Googlebot | fallback | -
Kagibot | Kagi | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
search.marginalia.nu | Marginalia | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
yacybot | YaCy peers | search | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
ExaBot | Exa | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | Exabot
ExaSearchBot | Exa | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Teoma | Ask | search | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | -
NeevaBot | Neeva | search | unknown | unknown | unknown | memory | obsolete | - | - | -
Gigabot | Gigablast | search | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | -
psbot | Picsearch | search | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | -
Swiftbot | Swiftype | search | unknown | unknown | unknown | memory | obsolete | - | - | -
SputnikBot | Sputnik | search | unknown | unknown | unknown | memory | obsolete | - | - | -
GPTBot | OpenAI | ai-training | yes | unknown | unknown | operator 2026-04-19 | - | - | - | -
OAI-SearchBot | OpenAI | ai-search | yes | unknown | unknown | operator 2026-04-19 | - | - | - | -
ChatGPT-User | OpenAI | ai-user-fetch | partly | unknown | unknown | operator 2026-04-19 | asked | - | - | -
OAI-AdsBot | OpenAI | ads | unknown | unknown | unknown | operator 2026-04-19 | asked | - | - | -
ChatGPT Agent | OpenAI | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
ClaudeBot | Anthropic | ai-training | yes | yes | unknown | operator 2026-04-19 | - | - | - | -
Claude-User | Anthropic | ai-user-fetch | yes | yes | unknown | operator 2026-04-19 | asked | - | - | -
Claude-SearchBot | Anthropic | ai-search | yes | yes | unknown | operator 2026-04-19 | - | - | - | -
anthropic-ai | Anthropic | ai-training | unknown | unknown | unknown | list 2026-08-22 | obsolete | - | - | -
Claude-Web | Anthropic | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | obsolete | - | - | -
CCBot | Common Crawl | ai-training | yes | yes | unknown | operator 2026-05-28 | - | - | - | -
PerplexityBot | Perplexity | ai-search | yes | unknown | unknown | operator undated | - | - | - | -
Perplexity-User | Perplexity | ai-user-fetch | no | unknown | unknown | operator undated | asked | - | - | -
meta-externalagent | Meta | ai-training | yes | unknown | unknown | operator 2026-05-21 | - | - | - | -
meta-webindexer | Meta | ai-search | yes | unknown | unknown | operator 2026-05-21 | - | - | - | -
meta-externalads | Meta | ads | yes | unknown | unknown | operator 2026-05-21 | - | - | - | -
meta-externalfetcher | Meta | ai-user-fetch | partly | unknown | unknown | operator 2026-05-21 | asked | - | - | -
facebookexternalhit | Meta | preview | yes | unknown | unknown | operator 2026-05-21 | asked | - | - | -
facebookcatalog | Meta | preview | yes | unknown | unknown | operator 2026-05-21 | - | - | - | -
FacebookBot | Meta | ai-training | yes | unknown | unknown | list 2026-08-22 | obsolete | - | - | -
Facebot | Meta | preview | unknown | unknown | unknown | memory | obsolete | - | - | -
Amazonbot | Amazon | ai-training | yes | no | unknown | operator undated | - | - | - | -
Amzn-SearchBot | Amazon | ai-search | yes | no | unknown | list 2026-10-01 | - | - | - | -
Amzn-User | Amazon | ai-user-fetch | partly | no | unknown | list 2026-10-01 | asked | - | - | -
amazon-kendra | Amazon | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
bedrockbot | Amazon | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
AmazonBuyForMe | Amazon | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
NovaAct | Amazon | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
Bytespider | ByteDance | ai-training | no | unknown | unknown | list 2026-08-22 | - | - | - | -
TikTokSpider | ByteDance | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
cohere-ai | Cohere | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
cohere-training-data-crawler | Cohere | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
AI2Bot | Allen Institute for AI | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
Ai2Bot-Dolma | Allen Institute for AI | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
AI2Bot-DeepResearchEval | Allen Institute for AI | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Diffbot | Diffbot | ai-search | yes | yes | unknown | operator undated | - | - | - | -
Diffbot-User | Diffbot | ai-user-fetch | unknown | unknown | unknown | operator undated | asked | - | - | -
ImagesiftBot | Hive (ImageSift) | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
omgili | Webz.io | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
omgilibot | Webz.io | ai-training | yes | unknown | unknown | list 2026-08-22 | obsolete | - | - | -
Webzio-Extended | Webz.io | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | webzio-extended, webzio
Timpibot | Timpi | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
YouBot | You.com | ai-search | yes | unknown | unknown | operator undated | - | - | - | -
MistralAI-User | Mistral AI | ai-user-fetch | yes | unknown | unknown | operator undated | asked | - | - | MistralAI-User/1.0
MistralAI-Index | Mistral AI | ai-search | yes | unknown | unknown | operator undated | - | - | - | -
MistralAI-Training | Mistral AI | ai-training | yes | unknown | unknown | operator undated | - | - | - | -
DeepSeekBot | DeepSeek | ai-training | no | unknown | unknown | list 2026-08-22 | - | - | - | -
xAI-SearchBot | xAI | ai-search | unknown | unknown | unknown | list 2026-09-15 | - | - | - | -
GrokBot | xAI | ai-user-fetch | unknown | unknown | unknown | list undated | - | - | - | -
KimiBot | Moonshot AI | ai-training | unknown | unknown | unknown | list 2026-09-28 | - | - | - | -
Kimi-SearchBot | Moonshot AI | ai-search | unknown | unknown | unknown | list 2026-09-28 | - | - | - | -
Kimi-User | Moonshot AI | ai-user-fetch | unknown | unknown | unknown | list 2026-09-28 | asked | - | - | -
Kangaroo Bot | Kangaroo LLM | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
PanguBot | Huawei | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
TongyiBot | Alibaba | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
ChatGLM-Spider | Zhipu AI | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
iaskspider | iAsk | ai-search | no | unknown | unknown | list 2026-08-22 | - | - | - | iaskspider/2.0, iAskBot
img2dataset | anyone (open source) | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
LAIONDownloader | LAION | ai-training | no | unknown | unknown | list 2026-08-22 | - | - | - | -
ICC-Crawler | NICT | research | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
SBIntuitionsBot | SB Intuitions | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
Cotoyogi | ROIS | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
FriendlyCrawler | unknown | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
FirecrawlAgent | Firecrawl | ai-user-fetch | yes | unknown | unknown | list 2026-08-22 | asked | - | - | -
ApifyBot | Apify | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Crawlspace | Crawlspace | ai-user-fetch | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
Andibot | Andi | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
PhindBot | Phind | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
TavilyBot | Tavily | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
LinkupBot | Linkup | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
ShapBot | Parallel | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
Shap-User | Parallel | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
QuillBot | QuillBot | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Brightbot | Bright Data | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | Brightbot 1.0
VelenPublicWebCrawler | Hunter (Velen) | ai-training | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
aiHitBot | aiHit | other | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
TerraCotta | Ceramic | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | Terra Cotta
Manus-User | Butterfly Effect | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
kagi-fetcher | Kagi | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
Cloudflare-AutoRAG | Cloudflare | ai-search | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
ISSCyberRiskCrawler | ISS-Corporate | ai-training | no | unknown | unknown | list 2026-08-22 | - | - | - | -
Linguee Bot | DeepL (Linguee) | ai-training | no | unknown | unknown | list 2026-08-22 | - | - | - | -
ia_archiver | Alexa Internet (closed); once Internet Archive | archive | yes | unknown | unknown | operator 2015-11-22 | obsolete | - | - | -
archive.org_bot | Internet Archive | archive | unknown | unknown | unknown | list 2020-06-03 | - | - | - | ia_archiver-web.archive.org
heritrix | anyone (open source) | archive | yes | unknown | unknown | list 2026-07-02 | - | - | - | -
ArchiveBot | Archive Team | archive | no | unknown | unknown | list 2026-07-02 | - | - | obeys | -
Arquivo-web-crawler | Arquivo.pt | archive | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
bnf.fr_bot | BnF | archive | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
AhrefsBot | Ahrefs | seo | yes | yes | unknown | operator undated | - | - | - | -
AhrefsSiteAudit | Ahrefs | seo | yes | yes | unknown | operator undated | - | - | - | -
SemrushBot | Semrush | seo | yes | yes | yes | operator undated | - | - | crawl_delay | -
SiteAuditBot | Semrush | seo | unknown | unknown | unknown | list undated | asked | - | - | -
SemrushBot-SA | Semrush | seo | unknown | unknown | unknown | memory | obsolete | - | - | -
SemrushBot-BA | Semrush | seo | unknown | unknown | unknown | memory | - | - | - | -
SemrushBot-SI | Semrush | seo | unknown | unknown | unknown | memory | - | - | - | -
SemrushBot-SWA | Semrush | seo | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
SemrushBot-OCOB | Semrush | seo | yes | unknown | unknown | list 2026-08-22 | - | - | - | -
SplitSignalBot | Semrush | seo | unknown | unknown | unknown | memory | - | - | - | -
MJ12bot | Majestic | seo | yes | yes | unknown | operator undated | - | - | - | -
DotBot | Moz | seo | yes | yes | unknown | operator undated | - | - | - | dotbot
rogerbot | Moz | seo | yes | yes | unknown | operator undated | - | - | - | -
BLEXBot | SE Ranking | seo | yes | yes | unknown | operator undated | - | - | - | -
DataForSeoBot | DataForSEO | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
SEOkicks | SEOkicks | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | SEOkicks-Robot
serpstatbot | Serpstat | seo | yes | yes | yes | operator undated | - | - | - | -
Screaming Frog SEO Spider | anyone (Screaming Frog) | seo | yes | unknown | unknown | list 2026-07-02 | asked | - | obeys | -
sistrix | SISTRIX | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | SISTRIX Crawler
Barkrowler | Babbar (eXenSa) | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
SeobilityBot | Seobility | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
ZoominfoBot | ZoomInfo | other | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
XoviBot | XOVI | seo | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
MegaIndex.ru | MegaIndex | seo | unknown | unknown | unknown | memory | obsolete | - | - | -
DeepCrawl | Lumar | seo | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | Lumar
Twitterbot | X | preview | yes | unknown | yes | operator undated | asked | - | - | -
LinkedInBot | LinkedIn | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Slackbot | Slack | preview | no | unknown | unknown | list undated | asked | - | - | -
Slackbot-LinkExpanding | Slack | preview | no | unknown | unknown | list undated | asked | - | - | -
Slack-ImgProxy | Slack | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Discordbot | Discord | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
TelegramBot | Telegram | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
WhatsApp | Meta | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Pinterestbot | Pinterest | preview | yes | unknown | unknown | operator undated | - | - | - | Pinterest
redditbot | Reddit | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Embedly | Embedly | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Iframely | Iframely | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
vkShare | VK | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
FlipboardProxy | Flipboard | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Mastodon | anyone (open source) | preview | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
UptimeRobot | UptimeRobot | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Pingdom.com_bot | Pingdom | monitoring | unknown | unknown | unknown | memory | asked | - | - | -
StatusCake | StatusCake | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Better Uptime Bot | Better Stack | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
DatadogSynthetics | Datadog | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Site24x7 | Zoho | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
FreshpingBot | Freshworks | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
HetrixTools | HetrixTools | monitoring | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Feedly | Feedly | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Feedbin | Feedbin | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
inoreader | Inoreader | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
NewsBlur | NewsBlur | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
Superfeedr | Superfeedr | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
theoldreader.com | The Old Reader | feed | unknown | unknown | unknown | list 2026-07-02 | asked | - | - | -
TurnitinBot | Turnitin | research | unknown | unknown | unknown | list 2026-07-02 | - | - | - | Turnitin
SemanticScholarBot | Allen Institute for AI | research | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
citeseerxbot | Penn State | research | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
Owler | OpenWebSearch.eu | research | unknown | unknown | unknown | list 2026-07-02 | - | - | - | OWLer
BUbiNG | University of Milan (LAW) | research | unknown | unknown | unknown | memory | obsolete | - | - | -
InternetMeasurement | driftnet | research | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
CriteoBot | Criteo | ads | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
GrapeshotCrawler | Oracle (closed) | ads | unknown | unknown | unknown | list 2026-07-02 | obsolete | - | - | grapeshot
proximic | Comscore | ads | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
ADmantX | IAS | ads | unknown | unknown | unknown | list 2026-07-02 | - | - | - | admantx
TTD-Content | The Trade Desk | ads | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
AdsTxtCrawler | IAB tools | ads | unknown | unknown | unknown | list 2026-07-02 | - | - | - | -
Scrapy | anyone (open source) | other | partly | no | unknown | list 2026-08-22 | - | - | - | -
Nutch | anyone (open source) | other | yes | yes | unknown | list 2026-07-02 | - | - | - | -
Wget | anyone (open source) | other | partly | unknown | unknown | list 2026-07-02 | - | - | - | -
HTTrack | anyone (open source) | other | partly | unknown | unknown | list 2026-07-02 | - | - | - | -
curl | anyone (library) | other | no | unknown | unknown | memory | - | - | - | -
python-requests | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | -
Python-urllib | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | -
libwww-perl | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | libwww, lwp-trivial
Go-http-client | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | -
aiohttp | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | -
httpx | anyone (library) | other | no | unknown | unknown | list 2026-07-02 | - | - | - | -
Crawl4AI | anyone (open source) | other | partly | unknown | unknown | list 2026-08-22 | - | - | - | -
008 | 80legs | other | unknown | unknown | unknown | memory | obsolete | - | - | -
CloudflareBrowserRenderingCrawler | Cloudflare | other | unknown | unknown | unknown | memory | - | - | - | -
peer39_crawler | Peer39 | ads | unknown | unknown | unknown | memory | - | - | - | -
R6_CommentReader | Salesforce (Radian6) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
Spinn3r | Spinn3r | other | unknown | unknown | unknown | memory | obsolete | - | - | -
NerdByNature.Bot | Nerd by Nature | other | unknown | unknown | unknown | memory | - | - | - | -
netEstate NE Crawler | netEstate | other | unknown | unknown | unknown | memory | - | - | - | netEstate Imprint Crawler, Datenbank Crawler
panscient.com | Panscient | other | unknown | unknown | unknown | memory | - | - | - | Panscient
quillbot.com | QuillBot | other | unknown | unknown | unknown | memory | - | - | - | -
5emeRue | 5ème Rue | other | unknown | unknown | unknown | memory | - | - | - | 5erue
Sidetrade indexer bot | Sidetrade | ai-training | unknown | unknown | unknown | memory | - | - | - | -
Poseidon Research Crawler | Poseidon Research | ai-training | unknown | unknown | unknown | memory | - | - | - | -
TaraGroup Intelligent Bot | Tara Group | other | unknown | unknown | unknown | memory | - | - | - | TaraGroup Intelligence Bot
sitecheck.internetseer.com | InternetSeer | monitoring | unknown | unknown | unknown | memory | obsolete | - | - | -
crawler4j | anyone (open source) | other | unknown | unknown | unknown | memory | - | - | - | -
k2spider | anyone (Verity) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
Hatena Antenna | Hatena | feed | unknown | unknown | unknown | memory | - | - | - | -
Offline Explorer | anyone (MetaProducts) | other | unknown | unknown | unknown | memory | - | - | - | Offline.Explorer
Teleport Pro | anyone (Tennyson Maxwell) | other | unknown | unknown | unknown | memory | - | - | - | -
WebCopier | anyone (MaximumSoft) | other | unknown | unknown | unknown | memory | - | - | - | -
Website Quester | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Website.Quester
Web Image Collector | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Web.Image.Collector
Webster Pro | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Webster.Pro
Download Ninja | anyone (Ifour) | other | unknown | unknown | unknown | memory | obsolete | - | - | Internet Ninja
Kenjin Spider | anyone (Autonomy) | other | unknown | unknown | unknown | memory | obsolete | - | - | Kenjin.Spider
Mister PiX | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Mister.PiX
Mata Hari | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Mata.Hari
URLy Warning | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | URLy.Warning
asknread.com | Ask'n'Read | other | unknown | unknown | unknown | memory | - | - | - | Ask n read
Qwam content intelligence | Qwam | other | unknown | unknown | unknown | memory | - | - | - | -
The Knowledge AI | The Knowledge AI | other | unknown | unknown | unknown | memory | - | - | - | -
Clickagy Intelligence Bot | ZoomInfo (Clickagy) | other | unknown | unknown | unknown | memory | - | - | - | -
Yahoo Ad Monitoring | Yahoo | ads | unknown | unknown | unknown | memory | - | - | - | -
DTS Agent | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
NetSeer crawler | NetSeer | ads | unknown | unknown | unknown | memory | obsolete | - | - | -
Sogou Orion spider | Sogou | search | unknown | unknown | unknown | memory | - | - | - | Sogou blog, Sogou spider2, Sogou wap spider
Snap URL Preview Service | Snap | preview | unknown | unknown | unknown | memory | - | - | - | -
Echobot Bot | Echobot | other | unknown | unknown | unknown | memory | - | - | - | -
Openfind data gatherer | Openfind | search | unknown | unknown | unknown | memory | obsolete | - | - | Openfind data gathere
Radiation Retriever | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
LinkScan | anyone (Elsop) | other | unknown | unknown | unknown | memory | obsolete | - | - | LinkScan Unix
The Intraformant | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | The.Intraformant
QueryN Metasearch | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | QueryN.Metasearch
Keyword Density | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Keyword.Density
Black Hole | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Black.Hole
Microsoft URL Control | anyone (library) | other | unknown | unknown | unknown | memory | obsolete | - | - | Microsoft.URL.Control
Crescent Internet ToolPak HTTP OLE Control | anyone (library) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
Xenu Link Sleuth | anyone (Tilman Hausherr) | other | unknown | unknown | unknown | memory | obsolete | - | - | Xenu's, Xenu's Link Sleuth
Zeus | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | Zeus Link Scout, Zeus Webster Pro Win32
Oracle Ultra Search | anyone (Oracle) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
RepoMonkey | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | RepoMonkey Bait & Tackle
Bookmark search tool | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
FairAd Client | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
Flaming AttackBot | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | -
VCI WebViewer | anyone (unknown) | other | unknown | unknown | unknown | memory | obsolete | - | - | VCI WebViewer VCI WebViewer Win32
Anomura | Direqt | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
atlassian-bot | Atlassian | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Awario | Awario | monitoring | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
bigsur.ai | Big Sur AI | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
BuddyBot | BuddyBotLearning | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
CragCrawler | CragSoftware | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Devin | Devin AI | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
EchoboxBot | Echobox | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Factset_spyderbot | FactSet | ai-training | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
GeistHaus-PageFetcher | GeistHaus | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Google-Gemini-CLI | Google | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
Claude-Code | Anthropic | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
KlaviyoAIBot | Klaviyo | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Lightpanda | anyone (open source) | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Mozilla-Tabstack | Mozilla | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
NagetBot | Naget | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Poggio-Citations | Poggio | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
QualifiedBot | Qualified | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
QueritBot | Querit | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Querit-SearchBot | Querit | ai-search | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Reflectionbot | Reflection AI | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
AIWebIndex | Lyrenth | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
AgentTimes | The Agent Times | feed | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
Thinkbot | Thinkbot | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
TwinAgent | Twin | ai-user-fetch | unknown | unknown | unknown | list 2026-08-22 | asked | - | - | -
WARDBot | WEBSPARK | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
wpbot | QuantumCloud | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
YaK | Meltwater | other | unknown | unknown | unknown | list 2026-08-22 | - | - | - | -
"""
