# ruff: noqa: E501
"""What services' tokens look like, and how the words of seed phrases begin: made by `scripts/secret_rules.py`.

A rule has texts of which one must be present, and a pattern whose group `value` is the secret.  The rules are those of
credsweeper==1.19.5, Copyright (c) 2021 SAMSUNG; the words those of mnemonic==0.21, Copyright (c) 2013-2016
Pavol Rusnak.  Both are under the MIT licence: permission is granted, free of charge, to any person obtaining a copy of
them, to deal in them without restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies, subject to this notice being included in all copies or substantial portions.
They are provided "as is", without warranty of any kind.
"""

# fmt: off
from __future__ import annotations

__all__ = ["BEGINNINGS", "RULES"]

_EDGE = r"(?:^|/|[^\\0-9A-Za-z+_-]|\\[0abfnrtv]|(?:%|\\x)[0-9A-Fa-f]{2}|\\[0-7]{3}|\\[Uu][0-9A-Fa-f]{4}|\x1B\[[0-9;]{0,80}m)"

RULES = (
    # Akamai Credentials
    ("akab-", r"(?P<value>akab-[0-9a-z]{16}-[0-9a-z]{16})(?!\.[0-9a-z-]{1,80}\.akamaiapis\.net)"),
    # Amazon Bedrock API Key
    ("ABSK bedrock-api-key-", _EDGE + "(?P<value>(ABSK|bedrock-api-key-)[0-9A-Za-z/+]{28,200})(?![0-9A-Za-z/+])"),
    # AWS AppSync GraphQL API Key
    ("da2-", _EDGE + "(?P<value>da2-[a-z0-9]{26})(?![0-9A-Za-z/+])"),
    # AWS Client ID
    ("A3T ABIA ACCA AGPA AIDA AIPA AKIA ANPA ANVA AROA APKA ASCA ASIA", _EDGE + "(?P<value>(A3T[0-9A-Z]|ABIA|ACCA|AGPA|AIDA|AIPA|AKIA|ANPA|ANVA|AROA|APKA|ASCA|ASIA)[0-9A-Z]{16,17})(?![0-9A-Za-z_+-])"),
    # Alibaba Access Key ID
    ("LTAI", _EDGE + "(?P<value>LTAI[0-9A-Za-z]{12,20})(?![0-9A-Za-z_+-])"),
    # AWS MWS Key
    ("amzn.mws.", r"(?P<value>amzn\.mws\.[0-9a-z]{8}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{12})(?![0-9A-Za-z_-])"),
    # Defined Networking API Key
    ("dnkey-", "(?P<value>dnkey-[A-Z2-7]{26}-[A-Z2-7]{52})"),
    # Dynatrace API Token
    ("dt0", _EDGE + r"(?P<value>dt0[a-z]{1}[0-9]{2}\.[0-9A-Z]{24}\.[0-9A-Z]{64})(?![0-9A-Za-z_-])"),
    # Doppler API Key
    ("dp.", r"(?P<value>dp\.(pt|st|ct|sa|scim|audit)\.[0-9A-Za-z]{43})"),
    # Facebook Access Token
    ("EAA", _EDGE + "(?P<value>EAA[0-9A-Za-z]{80,200})"),
    # Google API Key
    ("AIza", _EDGE + "(?P<value>AIza[0-9A-Za-z_-]{35})"),
    # Google OAuth Secret
    ("GOCSPX-", "(?P<value>GOCSPX-[0-9A-Za-z_-]{28})(?![0-9A-Za-z_-])"),
    # Google OAuth Access Token
    ("ya29.", r"(?P<value>ya29\.[0-9A-Za-z_-]{22,200})"),
    # Google OAuth Refresh Token
    ("1//0", _EDGE + "(?P<value>1//0[0-9A-Za-z_-]{80,200})"),
    # Heroku Credentials
    ("HRKU-", "(?P<value>HRKU-([0-9A-Za-z_-]{60}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}))"),
    # Instagram Access Token
    ("IGQVJ", "(?P<value>IGQVJ[=0-9A-Za-z_-]{100,200})(?![=0-9A-Za-z_-])"),
    # PASETO Token
    (".public. .local.", r"(?P<value>v[1-4]\.(public|local)\.[0-9A-Za-z_-]{15,200}(\.[0-9A-Za-z_-]{0,200})?)"),
    # PASERK Keys
    ("local secret", r"(?P<value>k[1-4]\.(local|secret)(-pw)?\.[0-9A-Za-z_-]{15,200})"),
    # JSON Web Token
    ("eyJ", r"(?P<value>eyJ[=0-9A-Za-z_+/-]{15,200}(\.[=0-9A-Za-z_+/-]{0,200}){2,16})(?![=0-9A-Za-z_-])"),
    # JSON Web Key
    ("eyJ eyAi ewoi ewog ew0K WyJ W3si Wwp7 Wwog Ww0K W3sK", r"(?P<value>\b(e(yJ|yAi|woi|wog|w0K)|W(yJ|3si|wp7|wog|w0K|3sK))[0-9A-Za-z_+/-]{60,200})"),
    # MailChimp API Key
    ("-us", _EDGE + "(?P<value>[0-9A-Za-z_-]{32}-us[0-9]{1,2})(?![0-9A-Za-z_-])"),
    # PayPal Braintree Access Token
    ("access_token$production$", r"(?P<value>access_token\$production\$[0-9a-z]{16}\$[0-9a-z]{32})(?![0-9A-Za-z_-])"),
    # BASE64 encoded PEM Private Key
    ("UFJJVkFURSBLRVkt QUklWQVRFIEtFWS0t FBSSVZBVEUgS0VZ", "(?P<value>[0-9A-Za-z_/+-]{0,200}LS0t(LS1CRUdJTiB|LUJFR0lOI|QkVHSU4g)[0-9A-Za-z_/+-]{0,11}(UFJJVkFURSBLRVkt|QUklWQVRFIEtFWS0t|FBSSVZBVEUgS0VZ)[0-9A-Za-z_/+-]{1,200}LS0t[0-9A-Za-z_/+-]{1,200})"),
    # Picatic API Key
    ("sk_live_", "(?P<value>sk_live_[0-9a-z]{32})(?![0-9A-Za-z_-])"),
    # SendGrid API Key
    ("SG.", _EDGE + r"(?P<value>SG\.[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{16,64})"),
    # Clojars Deploy Token
    ("CLOJARS_", "(?P<value>CLOJARS_[0-9a-f]{60})(?![0-9A-Za-z_-])"),
    # Shopify Token
    ("shp", "(?P<value>shp(at|ca|pa|ss|tka)_[0-9A-Fa-f]{32})(?![0-9A-Za-z_-])"),
    # Slack Token
    ("xox xapp", r"(?P<value>(xapp|xox[a-z])\-[0-9A-Za-z-]{10,200})(?![0-9A-Za-z_-])"),
    # Slack Webhook
    ("hooks.slack.com/services/T", r"(?P<variable>hooks\.slack\.com/services)(?P<value>/T[0-9A-Z]{8,16}/B[0-9A-Z]{8,16}/[0-9A-Za-z_]{24})"),
    # Stripe Credentials
    ("k_live_ k_test_ whsec_", "(?P<value>(whsec|[prs]k_(test|live))_[0-9A-Za-z]{24,160})"),
    # Square Access Token
    ("EAAA", _EDGE + "(?P<value>EAAA[0-9A-Za-z_-]{60})(?![0-9A-Za-z_-])"),
    # Square Credentials
    ("sq0", _EDGE + "(?P<value>sq0[a-z]{3}-[0-9A-Za-z_-]{22}([0-9A-Za-z_-]{21})?)(?![0-9A-Za-z_-])"),
    # Telegram Bot API Token
    (":AA", _EDGE + "(?P<value>[0-9]{8,10}:[0-9A-Za-z_-]{35})(?![0-9A-Za-z_-])"),
    # PyPi API Token
    ("pypi-", "(?P<value>pypi-[0-9A-Za-z_-]{150,200})"),
    # NPM Token
    ("npm_", _EDGE + "(?P<value>npm_[0-9A-Za-z_-]{36,200})"),
    # Github App Installation Token
    ("ghs_", r"(?P<value>ghs_[0-9]{1,20}_eyJ[0-9A-Za-z_-]{15,200}(\.[0-9A-Za-z_-]{0,200}){2,8})"),
    # Github Classic Token
    ("ghp_ gho_ ghu_ ghs_ ghr_", _EDGE + "(?P<value>gh[pousr]_[0-9A-Za-z_-]{36,200})"),
    # Github Fine-granted Token
    ("github_pat_", "(?P<value>github_pat_[0-9A-Za-z_]{80,200})"),
    # Jfrog Token
    ("cmVmdGtuO AKCp", "(?P<value>(cmVmdGtuO[0-9A-Za-z_-]{55}|AKCp[0-9A-Za-z_-]{69}))(?![0-9A-Za-z_-])"),
    # Azure Access Token
    ("eyJ", r"(?P<value>eyJ[=0-9A-Za-z_-]{50,200}\.eyJ[=0-9A-Za-z_-]{8,200}\.[=0-9A-Za-z_-]{18,200})"),
    # Azure Secret Value
    ("8Q~", _EDGE + "(?P<value>[0-9A-Za-z_~.-]{3}8Q~[0-9A-Za-z_~.-]{34})(?![0-9A-Za-z_-])"),
    # Azure Storage Account Key
    ("JQQJ99 JQQJ9D JQQJ9H", _EDGE + "(?P<value>[0-9A-Za-z]{52}JQQJ9[9DH][0-9A-Za-z]{26}([0-9A-Za-z=]{4})?)(?![0-9A-Za-z_/+-])"),
    # Bitbucket App Password
    ("ATBB", "(?P<value>ATBB[0-9A-Za-z]{24}[A-F0-9]{8})(?![0-9A-Za-z_])"),
    # Bitbucket Repository Access Token
    ("ATCTT3xFfGN0", r"(?P<value>ATCTT3xFfGN0[0-9A-Za-z_-]{80,200}(\\?=|(%|\\u00)3[dD])[A-F0-9]{8})"),
    # Bitbucket HTTP Access Token
    ("BBDC-", "(?P<value>BBDC-[MNO][ADQTgjwz][AEIMQUYcgk][012345wxyz][0-9A-Za-z_-]{40})"),
    # Atlassian PAT token
    ("ATATT3xFfGF0", r"(?P<value>ATATT3xFfGF0[0-9A-Za-z_-]{80,200}(\\?=|(%|\\u00)3[dD])[A-F0-9]{8})"),
    # CircleCI Personal API Token
    ("CCIPAT_", "(?P<value>CCIPAT_[0-9A-Za-z]{22}_[0-9a-f]{40})"),
    # Digital Ocean Token
    ("doo_v1_ dop_v1_ dor_v1_ dos_v1_", "(?P<value>do[oprs]_v1_[a-f0-9]{64})(?![0-9A-Za-z_-])"),
    # Dropbox OAuth2 API Access Token
    ("sl.", _EDGE + r"(?P<value>sl\.(u\.)?[0-9A-Za-z_-]{77,177})(?![0-9A-Za-z_-])"),
    # NuGet API key
    ("oy2", _EDGE + "(?P<value>oy2[a-z0-9]{43})(?![0-9A-Za-z_-])"),
    # Gitlab Prefix Token
    ("_gitlab_session= GR1348941 glagent- glsoat- glffct- glpat- gloas- glptt- glcbt- glimt- gldt- glft- glrt- glrtr- glwt-", r"(?P<value>(_gitlab_session=|GR1348941|gl(agent|soat|ffct|p[at]t|oas|cbt|imt|rtr|[dfrw]t)-)[0-9A-Za-z_-]{20,64}(\.[0-9A-Za-z_-]{2,16}){0,2})(?![0-9A-Za-z_-])"),
    # Grafana Provisioned API Key
    ("eyJ", "(?P<value>eyJ[=0-9A-Za-z_-]{64,200})(?![=0-9A-Za-z_-])"),
    # Grafana Access Policy Token
    ("glc_eyJ", "(?P<value>glc_eyJ[0-9A-Za-z_-]{80,200})(?![0-9A-Za-z_-])"),
    # Grafana Service Account Token
    ("glsa_", "(?P<value>glsa_[0-9A-Za-z_-]{32}_[0-9A-Fa-f]{8})"),
    # X App-Only Authentication Bearer Token
    ("AAAAAAAAAAAAAAAAAAAAA", _EDGE + r"(?P<value>AAAAAAAAAAAAAAAAAAAAA[0-9A-Za-z%]{40,42}(%|\\u00)3[dD][0-9A-Za-z]{50})(?![=0-9A-Za-z_/+-])"),
    # PlanetScale Credentials
    ("pscale_", "(?P<value>pscale_(tkn|oauth|pw)_[.0-9A-Za-z_-]{32,64})"),
    # NewRelic Credentials
    ("NRAK- NRBR- NRII- NRJS- NRAL", "(?P<value>NRAK-[0-9A-Z]{27}|NRBR-[0-9a-f]{19,20}|NRII-[0-9A-Za-z_-]{25}|NRJS-[0-9a-z]{19}|[0-9a-z]{5}[0-9a-f]{31}NRAL)"),
    # Linear API Key
    ("lin_api_", "(?P<value>lin_api_[0-9A-Za-z]{40})"),
    # CloudFlare API Token
    ("cfat_ cfut_ cfk_", "(?P<value>cf(at|ut|k)_[0-9A-Za-z]{40}[0-9a-f]{8})"),
    # Age Secret Key
    ("AGE-SECRET-KEY-1", "(?P<value>AGE-SECRET-KEY-1[0-9A-Z]{58})"),
    # Hashicorp Vault Token
    ("hvb. hvr. hvs.", _EDGE + r"(?P<value>hv[brs]\.[0-9A-Za-z_-]{80,160})"),
    # Hashicorp Terraform Token
    (".atlasv1.", r"(?P<value>[0-9A-Za-z_-]{14}\.atlasv1\.[0-9A-Za-z_-]{67})(?![0-9A-Za-z_-])"),
    # Airtable API Key
    ("pat", _EDGE + r"(?P<value>pat[0-9A-Za-z]{14}\.[0-9a-f]{64})(?![=0-9A-Za-z_+-])"),
    # OpenAI Token
    ("T3BlbkFJ 9wZW5BS PcGVuQU", "(?P<value>sk-[0-9A-Za-z_-]{16,160}(T3BlbkFJ|9wZW5BS|PcGVuQU)[0-9A-Za-z_-]{16,160})"),
    # OpenRouter API Key
    ("sk-or-v1-", "(?P<value>sk-or-v1-[0-9a-f]{64})"),
    # Docker Access Token
    ("dckr_pat_ dckr_oat_", "(?P<value>dckr_[op]at_[0-9A-Za-z_-]{27,32})"),
    # Docker Swarm Token
    ("SWMTKN-1-", "(?P<value>SWMTKN-1-[0-9a-z]{50}-[0-9a-z]{25})"),
    # Docker Swarm Key
    ("SWMKEY-1-", "(?P<value>SWMKEY-1-[0-9A-Za-z]{43})"),
    # Groq API Key
    ("WGdyb3FY hncm9xW YZ3JvcV", _EDGE + "(?P<value>gsk_[0-9A-Za-z_-]{8,40}(WGdyb3FY|hncm9xW|YZ3JvcV)[0-9A-Za-z_-]{8,40})(?![0-9A-Za-z_-])"),
    # X AI API Key
    ("xai-", _EDGE + "(?P<value>xai-[0-9A-Za-z_-]{80})(?![0-9A-Za-z_-])"),
    # Notion Integration Token
    ("ntn_", _EDGE + "(?P<value>ntn_[0-9]{9}[0-9A-Za-z_-]{36,200})"),
    # Hugging Face User Access Token
    ("hf_", _EDGE + "(?P<value>hf_[0-9A-Za-z_-]{34})(?![0-9A-Za-z_-])"),
    # Anthropic API Key
    ("sk-ant-", "(?P<value>sk-ant-(api|admin)0[1-4]-[0-9A-Za-z_-]{64,128})(?![0-9A-Za-z_-])"),
    # Perplexity API Key
    ("pplx-", "(?P<value>pplx-[0-9A-Za-z_-]{40,64})(?![0-9A-Za-z_-])"),
    # Tailscale Credentials
    ("tskey-", "(?P<value>tskey-(api|auth|client|scim|webhook)-[0-9A-Za-z]{12,24}-[0-9A-Za-z]{32})"),
    # Contentful Credentials
    ("CFPAT-", "(?P<value>CFPAT-[0-9A-Za-z_-]{43})(?![0-9A-Za-z_-])"),
    # Pulumi Personal Access Token
    ("pul-", "(?P<value>pul-[0-9a-f]{40})"),
    # DeepSeek API Key
    ("sk-", _EDGE + "(?P<value>sk-[0-9a-f]{32,64})(?![0-9A-Za-z_-])"),
    # Tavily API Key
    ("tvly-", "(?P<value>tvly-[0-9A-Za-z_-]{32,40})(?![0-9A-Za-z_-])"),
    # Figma Personal Access Token
    ("figd_", "(?P<value>figd_[0-9A-Za-z_-]{40})(?![0-9A-Za-z_-])"),
    # 1Password Account Token
    ("InNlY3JldEtleSI6 JzZWNyZXRLZXkiO ic2VjcmV0S2V5Ij", "(?P<value>ops_eyJ[0-9A-Za-z_-]{168,200})"),
    # Brevo API Key
    ("xkeysib-", "(?P<value>xkeysib-[0-9a-f]{64}-[0-9A-Za-z_-]{16})"),
    # Together AI API Key
    ("tgp_v1_", "(?P<value>tgp_v1_[0-9A-Za-z_-]{43})"),
    # LLAMA API Key
    ("llx-", _EDGE + "(?P<value>llx-[0-9A-Za-z_-]{48})"),
    # SonarQube Credentials
    ("sqa_ sqp_ squ_", "(?P<value>sq[apu]_[0-9a-f]{40})(?![0-9A-Za-z_-])"),
    # Sentry Organization Auth Token
    ("sntrys_eyJ", "(?P<value>sntrys_eyJ[0-9A-Za-z_-]{80,200}=*([0-9A-Za-z_-]{32,200})?)(?![0-9A-Za-z_-])"),
    # Sentry User Auth Token
    ("sntryu_", "(?P<value>sntryu_[0-9a-f]{64})(?![0-9A-Za-z_-])"),
    # Discord Webhook
    ("discordapp.com/api/webhooks discord.com/api/webhooks", r"(?P<variable>discord(?:app)?\.com/api/webhooks)(?P<value>/[0-9]{16,22}/[0-9A-Za-z_-]{40,100})"),
    # Nylas API Key
    ("nyk_v0_", "(?P<value>nyk_v0_[0-9A-Za-z_-]{64})"),
    # WakaTime API Key
    ("waka_", "(?P<value>waka_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"),
    # Riot Games API Key
    ("RGAPI-", "(?P<value>RGAPI-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})"),
    # SourceGraph Credentials
    ("sgp_", "(?P<value>sgp_(local_|[0-9a-f]{16}_)?[0-9a-f]{40})"),
    # Typeform API Personal Token
    ("tfp_", _EDGE + "(?P<value>tfp_[0-9A-Za-z_-]{56,60})(?![0-9A-Za-z_-])"),
    # Vercel Token
    ("vcp_", _EDGE + "(?P<value>vcp_[0-9A-Za-z]{56})(?![0-9A-Za-z_-])"),
    # Netlify Token
    ("nfp_", _EDGE + "(?P<value>nfp_[0-9A-Za-z]{36})(?![0-9A-Za-z_-])"),
    # PostHog Credentials
    ("phx_ phs_ phr_ pha_ phc_", _EDGE + "(?P<value>ph[acrsx]_[0-9A-Za-z]{40,60})(?![0-9A-Za-z_-])"),
    # RubyGems API Key
    ("rubygems_", "(?P<value>rubygems_[0-9a-f]{48})"),
    # Databricks Access Token
    ("dapi", "(?P<value>dapi[0-9a-f]{32})"),
    # WunderGraph API Key
    ("cosmo_", "(?P<value>cosmo_[0-9a-f]{32})"),
    # Supabase Credentials
    ("sbp_", "(?P<value>sbp_(v0_)?[0-9a-f]{40})"),
    # Postman Credentials
    ("PMAK- PMAT-", "(?P<value>(PMAK-[0-9a-f]{24}-[0-9a-f]{34}|PMAT-[0-9A-Z]{26}))"),
    # NTLM Token
    ("TlRMTVNTUAA", "(?P<value>TlRMTVNTUAA[BCD]AAAA[=0-9A-Za-z_/+-]{28,200})(?![0-9A-Za-z_/+-])"),
)

BEGINNINGS = (
    "abanabilableabouabovabseabsoabstabsuabusacceacciaccoaccuachiacidacouacquacroact actiactoactractuadapadd addiaddr"
    "adjuadmiaduladvaadviaeroaffaaffoafraagaiage agenagreaheaaim air airpaislalaralbualcoaleralieall allealloalmoalon"
    "alphalrealsoaltealwaamatamazamonamouamusanalanchanciangeanglangranimanklannoannuanotanswanteantianxiany aparapol"
    "appeapplapprapriarcharctareaarenarguarm armearmoarmyarouarraarrearriarroart arteartiartwask aspeassaasseassiassu"
    "asthathlatomattaatteattiattrauctaudiauguauntauthautoautuaveravocavoiawakawarawayawesawfuawkwaxisbabybachbacobadg"
    "bag balabalcballbambbanabannbar barebargbarrbasebasibaskbattbeacbeanbeaubecabecobeefbefobegibehabehibelibelobelt"
    "bencbenebestbetrbettbetwbeyobicybid bikebindbiolbirdbirtbittblacbladblamblanblasbleablesblinblooblosbloublueblur"
    "blusboarboatbodyboilbombbonebonubookboosbordboriborrbossbottbounbox boy bracbraibranbrasbravbreabreebricbridbrie"
    "brigbrinbrisbrocbrokbronbroobrotbrowbrusbubbbuddbudgbuffbuilbulbbulkbullbundbunkburdburgbursbus busibusybuttbuye"
    "buzzcabbcabicablcactcagecakecallcalmcamecampcan canacanccandcanncanocanvcanycapacapicaptcar carbcardcargcarpcarr"
    "cartcasecashcasicastcasucat catacatccatecattcaugcauscautcaveceilcelecemecenscentcerecertchaichalchamchanchaochap"
    "charchaschatcheacheccheechefchercheschicchiechilchimchoichoochrochucchunchurcigacinncircciticityciviclaiclapclar"
    "clawclaycleaclerclevclicclieclifclimclinclipclocclogclosclotclouclowclubclumclusclutcoaccoascococodecoffcoilcoin"
    "collcolocolucombcomecomfcomicommcompconccondconfcongconnconscontconvcookcoolcoppcopycoracorecorncorrcostcottcouc"
    "councoupcourcouscovecoyocraccradcrafcramcrancrascratcrawcrazcreacredcreecrewcriccrimcriscritcropcroscroucrowcruc"
    "cruecruicrumcruncruscry cryscubecultcup cupbcuricurrcurtcurvcushcustcutecycldad damadampdancdangdaridashdaugdawn"
    "day dealdebadebrdecadecedecidecldecodecrdeerdefedefidefydegrdeladelidemademidenidentdenydepadepedepodeptdepuderi"
    "descdesedesideskdespdestdetadetedevedevidevodiagdialdiamdiardicediesdietdiffdigidigndiledinndinodiredirtdisadisc"
    "disedishdismdisodispdistdivedividivodizzdoctdocudog dolldolpdomadonadonkdonodoordosedoubdovedrafdragdramdrasdraw"
    "dreadresdrifdrildrindripdrivdropdrumdry duckdumbduneduridustdutcdutydwardynaeageeaglearlearnearteasieasteasyecho"
    "ecoleconedgeediteduceffoegg eigheithelboeldeelecelegelemelepelevelitelseembaemboembremeremotemplempoemptenabenac"
    "end endlendoenemenerenfoengaengienhaenjoenlienouenrienroensuenteentientrenveepisequaequiera eraseroderoserroerup"
    "escaessaesseestaeterethievidevilevokevolexacexamexceexchexciexclexcuexecexerexhaexhiexilexisexitexotexpaexpeexpi"
    "explexpoexprexteextreye eyebfabrfacefacufadefainfaitfallfalsfamefamifamofan fancfantfarmfashfat fatafathfatifaul"
    "favofeatfebrfedefee feedfeelfemafencfestfetcfevefew fibefictfielfigufilefilmfiltfinafindfinefingfinifirefirmfirs"
    "fiscfishfit fitnfix flagflamflasflatflavfleefligflipfloaflocflooflowfluiflusfly foamfocufog foilfoldfollfoodfoot"
    "forcforeforgforkfortforuforwfossfostfounfox fragframfreqfresfriefrinfrogfronfrosfrowfrozfruifuelfun funnfurnfury"
    "futugadggaingalagallgamegap garagarbgardgarlgarmgas gaspgategathgauggazegenegenigenrgentgenugestghosgiangiftgigg"
    "ginggiragirlgivegladglanglarglasglidglimglobglooglorglovglowgluegoatgoddgoldgoodgoosgorigospgossgovegowngrabgrac"
    "graigrangrapgrasgravgreagreegridgriegritgrocgrougrowgrunguarguesguidguilguitgun gym habihairhalfhammhamshandhapp"
    "harbhardharsharvhat havehawkhazaheadhealhearheavhedgheighellhelmhelphen herohiddhighhillhinthip hirehisthobbhock"
    "holdholeholihollhomehonehoodhopehornhorrhorshosphosthotehourhovehub hugehumahumbhumohundhunghunthurdhurrhurthusb"
    "hybrice iconideaidenidleignoill illeillnimagimitimmeimmuimpaimpoimprimpuinchinclincoincrindeindiindoinduinfainfl"
    "infoinhainheinitinjeinjuinmainneinnoinpuinquinsainseinsiinspinstintainteintoinveinviinvoironislaisolissuitemivor"
    "jackjagujar jazzjealjeanjelljewejob joinjokejourjoy judgjuicjumpjungjunijunkjustkangkeenkeepketckey kickkid kidn"
    "kindkingkisskit kitckitekittkiwikneeknifknocknowlab labelaboladdladylakelamplanglaptlarglatelatilauglaunlavalaw "
    "lawnlawslayelazyleadleaflearleavlectleftleg legalegeleislemolendlenglensleoplesslettleveliarlibelibrlicelifelift"
    "lighlikelimblimilinklionliqulistlittlivelizaloadloanlobslocalocklogilonelonglooplottloudlounloveloyalucklugglumb"
    "lunaluncluxulyrimachmad magimagnmaidmailmainmajomakemammman manamandmangmansmanumaplmarbmarcmargmarimarkmarrmask"
    "massmastmatcmatemathmatrmattmaximazemeadmeanmeasmeatmechmedamedimelomeltmembmemomentmenumercmergmerimerrmeshmess"
    "metamethmiddmidnmilkmillmimimindminiminominumiramirrmisemissmistmix mixemixtmobimodemodimom momemonimonkmonsmont"
    "moonmoramoremornmosqmothmotimotomounmousmovemovimuchmuffmulemultmuscmusemushmusimustmutumysemystmythnaivnamenapk"
    "narrnastnatinatunearneckneedneganeglneitnephnervnestnet netwneutnevenewsnextnicenighnoblnoisnominoodnormnortnose"
    "notanotenothnotinovenow nuclnumbnursnut oak obeyobjeobliobscobseobtaobvioccuoceaoctoodoroff offeoffiofteoil okay"
    "old olivolymomitonceone onioonlionlyopenoperopinoppooptioranorbiorchordeordiorgaorieorigorphostrotheoutdouteoutp"
    "outsovalovenoverown owneoxygoystozonpactpaddpagepairpalapalmpandpanepanipantpapeparapareparkparrpartpasspatcpath"
    "patipatrpattpauspavepaympeacpeanpearpeaspelipen penapencpeoppeppperfpermperspet phonphotphraphyspianpicnpictpiec"
    "pig pigepillpilopinkpionpipepistpitcpizzplacplanplasplatplaypleapledplucplugplunpoempoetpoinpolapolepolipondpony"
    "poolpopuportposiposspostpotapottpovepowdpowepracpraipredprefprepprespretprevpricpridprimprinprioprisprivprizprob"
    "procprodprofprogprojpromproopropprosprotprouprovpublpuddpullpulppulspumppuncpupipupppurcpuripurppurspushput puzz"
    "pyraqualquanquarquesquicquitquizquotrabbraccracerackradaradirailrainraisrallramprancrandrangrapirareraterathrave"
    "raw razoreadrealreasrebereburecarecerecirecorecyredureflreforefuregiregrregurejerelarelerelirelyremaremeremiremo"
    "rendrenerentreopreparepereplreporequrescreseresiresorespresuretiretrretureunreverevirewarhytrib ribbricerichride"
    "ridgriflrighrigiringriotrippriskriturivariveroadroasroboroburockromaroofrookroomroserotarougrounroutroyarubbrude"
    "rug rulerun runwrurasad saddsadnsafesailsalasalmsalosaltsalusamesampsandsatisatosaucsaussavesay scalscanscarscat"
    "scenscheschosciescisscorscouscrascrescriscrusea searseasseatsecosecrsectsecuseedseeksegmselesellsemisenisenssent"
    "seriservsesssettsetuseveshadshafshalsharshedshelshershieshifshinshipshivshocshoeshooshopshorshoushovshrishrushuf"
    "shy siblsicksidesiegsighsignsilesilksillsilvsimisimpsincsingsiresistsitusix sizeskatsketski skilskinskirskulslab"
    "slamsleeslenslicslidsligslimslogslotslowslussmalsmarsmilsmoksmoosnacsnaksnapsnifsnowsoapsoccsocisocksodasoftsola"
    "soldsolisolusolvsomesongsoonsorrsortsoulsounsoupsoursoutspacsparspatspawspeaspecspeespelspensphespicspidspikspin"
    "spirsplispoisponspoosporspotspraspresprispy squasquesquistabstadstafstagstaistamstanstarstatstaysteasteestemstep"
    "stersticstilstinstocstomstonstoostorstovstrastrestristrostrustudstufstumstylsubjsubmsubwsuccsuchsuddsuffsugasugg"
    "suitsummsun sunnsunssupesuppsuprsuresurfsurgsurpsurrsurvsuspsustswalswamswapswarsweasweeswifswimswinswitsworsymb"
    "sympsyrusysttabltacktag tailtaletalktanktapetargtasktasttatttaxiteacteamtellten tenatenntenttermtesttextthanthat"
    "themthentheothertheythinthisthouthrethrithrothumthunticktidetigetilttimbtimetinytip tiretisstitltoastobatodatodd"
    "toe togetoiltoketomatomotonetongtonitooltoottop topitopptorctorntorttosstotatourtowatowetowntoy tractradtraftrag"
    "traitrantraptrastravtraytreatreetrentriatribtrictrigtrimtriptroptroutructruetrultrumtrustruttry tubetuittumbtuna"
    "tunnturkturnturttweltwentwictwintwistwo typetypiuglyumbrunabunawuncluncoundeundounfaunfounhaunifuniqunitunivunkn"
    "unlountiunusunveupdaupgruphouponuppeupseurbaurgeusaguse usedusefuselusuautilvacavacuvaguvalivallvalvvan vanivapo"
    "varivastvaulvehivelvvendventvenuverbveriversveryvessveteviabvibrvicivictvideviewvillvintviolvirtviruvisavisivisu"
    "vitavivivocavoicvoidvolcvoluvotevoyawagewagowaitwalkwallwalnwantwarfwarmwarrwashwaspwastwatewaveway wealweapwear"
    "weasweatweb weddweekweirwelcwestwet whalwhatwheawheewhenwherwhipwhiswidewidtwifewildwillwin windwinewingwinkwinn"
    "wintwirewisdwisewishwitnwolfwomawondwoodwoolwordworkworlworrwortwrapwrecwreswriswritwronyardyearyellyou younyout"
    "zebrzerozonezoo "
)
