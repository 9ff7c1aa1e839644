"""The words by which a prompt speaks of what a machine may not decide, by kind, in the languages of the packs.

``delet*`` begins a word, ``pay`` is one, ``*lösch*`` may stand inside of one (compounds), ``_`` is a blank, ``_.._`` up
to eight words (separable verbs).  Accents do not count; Chinese (both scripts), Japanese and Korean stand anywhere.  A
word that several languages share stands in one of them.
"""

from __future__ import annotations

__all__ = ["CUT", "HARMLESS", "KINDS", "ZERO_COUNTS", "ZERO_COUNTS_BEHIND"]

_DELETION = """
en: eras* unlink* purg* prun* wipe wipes wiped wiping destruct* shred* expung* obliterat* annihilat* eliminat*
    truncat* drop drops dropped dropping discard* trash* nuke nuked zap zapped clear clears cleared clearing cleans
    cleaned cleaning cleanup clean_up clean_the clean_all empties emptied emptying empty_the flush* scrub* rmdir rm_r
    rm_f rm_rf rm_fr get_rid_of gets_rid_of throw_away throws_away thrown_away dispose_of disposed_of evict*
    deprovision* decommission* teardown tear_down tears_down torn_down dismantl* eradicat* *delete* delet* *remov*
    *uninstall* *destroy* autoclean
de: *lösch* *entfern* *deinstallier* vernicht* *zerstör* tilgt tilgen getilgt ausradier* beseitig* bereinig* leert
    geleert entleer* verwerfen verwirft verworfen wegwerf* weggeworfen wegzuwerfen aufräumen aufgeräumt räum*_.._auf
    säuber* zu_leeren
fr: supprim* suppression* effac* enlev* désinstall* détrui* destruct* élimin* vider vidage sera_vidé seront_vidés
    jeter jetés jetées abandonn* anéanti* nettoy*
es: elimin* borrar* borra borran borre borren borró borrado borrados borrada borradas borrando suprim* supres*
    desinstal* destru* descart* vaciar* vaciado vaciada limpiar* limpieza limpian quitar quitará* quita quitan quitad*
    quitand* quítal* retir*
pt: excluir* excluí* excluin* exclui exclusão apagar* apaga apague apagad* apagam desinstal* limpar* limpeza esvazi*
    jogar_fora remoç* remov*
it: cancella* canceller* rimuov* rimoss* rimoz* disinstall* distrugg* distrutt* distruz* svuot* scart* pulizia pulire
    pulisc*
nl: *verwijder* wissen *gewist* vernietig* leegmaken leeggemaakt leegt opschon* opgeschoond weggooi* weggegooid
    opruim* opgeruimd schrapp* geschrapt verwerp* verworp*
sv: radera* tagit_bort tagits_bort borttag* avinstaller* förstör* rensa rensas rensar rensning töms tömmer utplån*
    kassera* förkasta* tömmas tömning kasta*_bort släng* ta_bort tas_bort tar_bort ta_.._bort tas_.._bort tar_.._bort
    tog_.._bort togs_.._bort
da: slet slette* sletning* slett* fjern* afinstaller* ødelæg* ødelagt tømmes tømmer rydde ryddes rydder kasser*
    udslet* smid*_.._væk
no: avinstaller* ødelegg* utslett* forkast*
fi: poista* poiste* poisto* tuhoa* tuhou* tuhot* hävit* häviä* tyhjen* hylät* hylkää* pyyhi* pyyhki* tuhos* hukat*
    hukka*
pl: usun* usuw* skasow* kasow* kasuj* skasuj* wykasow* wymaz* wymaż* zniszcz* niszcz* odinstal* wyczyś* wyczyszcz*
    czyszcz* opróżn* odrzuc* porzuc* zlikwid* likwid* wyrzuc* czyści* nieusuw*
cs: smaz* smaž* vymaz* vymaž* odstran* odstraň* odinstal* znič* zlikvid* vyprázdn* vyčist* zahod* zahoz* promaz*
    mazan* mazat maže_se zrušen* zruší odebrat odebrán odebrána odebrány odebrání odebír* mažu maže
sk: odstrán* zmaz* zmaž* odinštal* mazan* mazať zahadz* odobr* odstrn*
hu: *töröl* *törl* eltávolít* távolít* megsemmis* elpuszt* kiürít* ürít* eldob* kidob* eltűn*
ro: șterg* șters șterse ștearsă ștearse șterși dezinstal* distrus* distrug* golit* golir* goli înlătur* arunc* curăț*
tr: sil silin* silec* siliy* sildi* siler silsin kaldır* yok_et* yok_ed* yok_ol* imha temizle* boşalt* silme silmek
    silmeyi silinmiş silemez* silerken atılac* atılm*
ru: стер* стира* стирать сотр* вытер* уничтож* очист* очищ* вычист* выброс* отброс* деинсталл* ликвид* исчезн* удали*
    удаля* удален* удалё* удалит* отброш* убрать убран* уберут
uk: видал* вилуч* зітр* знищ* деінстал* ліквід* викин* відкин* зникн* стира* витер*
zh: 删 刪 移除 卸载 卸載 解除安裝 清除 清空 清理 抹 擦除 销毁 銷毀 摧毁 摧毀 去除 除去 丢弃 丟棄 舍弃 捨棄 废弃 廢棄
    放弃 放棄 砍除
ja: 削除 消去 抹消 除去 取り除 アンインストール 消し 消え 消す 消さ 破棄 撤去 捨て 空にし 空にす 一掃 クリアし
    クリアす クリアさ
ko: 삭제 지우 지웁 지워 지운 지울 제거 없애 없앱 없앨 비우 비웁 비워 폐기 파기 소거 말소 버리 버립 버려
"""

_LOSS = """
en: lose loses losing loss losses lost overwrote rewrit* replac* formats formatted formatting reformat* reset* revert*
    rollback roll_back rolls_back rolled_back undo undone undoing irrevers* irrevoc* irrecover* unrecover* irretriev*
    permanent* corrupt* damag* taken_back no_way_back no_going_back point_of_no_return forever for_good be_gone
    is_gone are_gone vanish* disappear* no_longer_exist* repartition* partition* mkfs* clobber* forfeit* downgrad*
    start_over force forced forcing forcibly danger* unsaved initializ*_.._disk initializ*_.._drive
    initializ*_.._device initializ*_.._volume initialis*_.._disk initialis*_.._drive factory abandon* bricked
    cannot_be_recovered *overwrit* format_the format_this format_your format_all format_it format_disk format_drive
    format_dev format_sd format_usb format_c format_partition format_volume format_y format_now to_format will_format
    would_format and_format must_format
de: *verlor* *verlier* *verlust* *überschrieb* ersetz* *formatier* zurücksetz* *zurückgesetzt *zurückzusetzen
    *rücksetzung* setz*_.._zurück zurück_gesetzt unwiderruf* unumkehrbar* unwiederbringlich* endgültig* dauerhaft*
    rückgängig* beschädig* für_immer erzwing* erzwung* gefahr gefähr* partitionier* *werkseinstellung* verschwind*
    unrettbar* *überschreib*
fr: perd* perte pertes écras* remplac* réécri* réinitialis* irréversib* irrévocab* irrécup* définitiv* endommag*
    corromp* pour_toujours à_jamais annihil* formater formaté* formatage formatera formateront surcharg*
es: pierd* pérdida* perdió sobrescri* sobreescri* reemplaz* sustitu* restablec* irrecuper* dañar* dañad* daños deshac*
    machac* para_siempre reescri* formatear* formatead* formatee remplaz*
pt: percam perca perda perdas sobrescrev* sobrescrit* sobregrav* substitu* redefin* desfaz* desfeit* danific*
    reescrev* para_sempre reverter* revertid* formatar* formatad* formataç* sobreescre* sobre_escrever
    escrev*_por_cima escrito_por_cima
it: perso persa persi perse sovrascri* sostitu* formatt* ripristin* azzer* dannegg* riscri* reimpost* per_sempre
    rimpiazz*
nl: verlies* kwijt* *overschrij* *overschreven* vervang* *formatteer* *formatter* terugzet* teruggezet zet*_.._terug
    onherroep* onomkeer* definitief ongedaan beschadig* voorgoed herschrijf* zoekgeraakt zoek_geraakt
sv: förlor* *förlust* skriv*_över skriv*_.._över överskriv* ersätt* *formater* återställ* nollställ* oåterkall* ångra*
    skadas för_alltid
da: overskrev* tabt tabes *datatab* gå_tabt mistes overskriv* erstat* nulstil* gendan* uigenkald* fortryd* beskadig*
    for_altid
no: tapt tapes *datatap* tilbakestill* nullstill* ugjenkall* uopprett* angres angre for_alltid går_tapt
fi: menete* menettä* kadota katoa* katoav* ylikirjoit* päällekirjoit* korvau* alustet* alustaa* alustami* formatoi*
    palautet* nollaa* nollat* peruuttamat* lopullis* pysyvä* vahingoit* vaurio* korvat* korvaa* päälle_kirjoit*
    kirjoit*_päälle kirjoit*_.._päälle kadotti
pl: utrac* utrat* stracon* strac* strata straty zgubi* przepad* nadpis* zastąp* zastęp* podmien* sformatow* formatow*
    formatuj* nieodwrac* nieodwoł* trwale bezpowrotn* cofnąć cofnięt* uszkodz* wymusz* na_zawsze zreset* zamień
    zamieni* zamian* fabryczn*
cs: ztrat* ztrác* ztrac* přepsá* přepis* přepíš* nahraz* nahrad* formátov* naformát* zformát* resetov* nevratn*
    nenávratn* trvale poškoz* přijdete_o navždy tovární* vynutit vynuc*
sk: stratí* stratia stratite straten* stráca* prepís* prepis* nahrád* nezvratn* natrvalo poškod* prídete_o znulov*
    vynulov* továren*
hu: elvesz* elvész* *veszteség* *vesztés* lecserél* formáz* megformáz* formatál* leformáz* visszaállít* visszavon*
    visszafordít* végleges* *sérül* alaphelyzet* *felülí* ír*_felül csere cseré* kicseré* helyettesít* újra_.._indít*
ro: pierz* suprascr* înlocui* ireversib* irecuper* deterior* pentru_totdeauna reinițializ* formatat* formatez*
tr: kayb* kayıp* üzerine_yaz* üstüne_yaz* biçimlendir* formatla* sıfırla* geri_alın* geri_döndür* geri_getir* kalıcı*
    bozul* hasar* yitir* değiştirilecek
ru: потер* утер* утрат* утрач* теря* пропад* перезапис* перезапиш* перепиш* перепис* замен* замещ* форматир*
    *форматир* сброс* сбрас* необратим* безвозврат* навсегда невосстанов* откат* нельзя_отмен* нельзя_будет_отмен*
    невозможно_отмен* невозможно_будет_отмен* поврежд* испор* затер* затрет* разруш* принудит* сброш* заводск*
uk: втрат* втрач* загуб* замін* форматув* *форматув* *форматов* скид* скину* незворот* безповорот* назавжди пошкодж*
    примусов* замістит*
zh: 丢失 丟失 遗失 遺失 损失 損失 失去 覆盖 覆蓋 覆写 覆寫 改写 改寫 重写 重寫 替换 替換 取代 格式化 重置 重設 重设
    初始化 还原 還原 回滚 不可逆 无法恢复 無法恢復 无法撤销 無法復原 不可恢复 永久 彻底 徹底 损坏 損壞 毁 毀 分区
    分割區 强制 強制 恢复出厂 出厂 破壞 破坏 複寫
ja: 失わ 失い 失う 失っ 失く 紛失 喪失 消失 上書き 置き換え 置換 書き換え フォーマット 初期化 リセット 元に戻 取り消せ
    復元 復旧 永久 完全に 破損 壊れ 破壊 パーティション 強制 ロールバック
ko: 잃 손실 유실 분실 덮어쓰 덮어씁 덮어써 덮어쓸 덮어씌 교체 대체 포맷 초기화 재설정 리셋 되돌 영구 손상 파괴 파손
    파티션 강제 사라 롤백 덮어_쓰* 복구할_수_없* 복구_불가*
"""

_PAYMENT = """
en: pay pays paying paid payment* payable paypal prepay* purchas* buy buys buying bought charged charging charge_you
    will_charge charge_your a_charge extra_charge* additional_charge* bill billed billing bills invoic* fee fees price
    prices priced pricing subscri* renew* donat* refund* credit_card* debit_card* card_number your_card place_order
    place_the_order place_your_order order_now dollar* euro euros bitcoin* wallet* credits withdraw* deposit* trial
    money funds will_cost may_cost costs_you cost_you at_a_cost additional_cost* extra_cost* total_cost spend spends
    rental
de: zahlt gezahlt zahlbar zu_zahlen *bezahl* *zahlung* *kauf* kostet kosten kostenpflichtig* *gebühr* preis preise
    preises abonn* abo rechnung* abbuch* abgebucht kreditkart* bestell* belast* überweis* überwies* entgelt* spende*
fr: paye* paie* payant* achat* achet* factur* prix tarif* coût coûts coûte* frais débite* carte_bancaire
    carte_de_crédit carte_bleue prélev* rembours*
es: pague* compra compras comprar* comprad* compre cobra* cobro* precio precios suscri* cuesta* costar* coste costes
    costo costos dinero donar* donac* pagad* pagará* pagos pago a_pagar para_pagar debe_pagar pagar_con pagar_el
    pagar_la pagar_los pagar_por pagar_ahora su_tarjeta tarjeta_de_crédito tarjeta_bancaria tarjetas_de_crédito
    su_pedido
pt: cobranç* fatur* preço* custo custos custa custar* cartão* doação dinheiro pagam* deve_pagar pagar_com pagar_o
    pagar_a pagar_agora sua_assinatura assinatura_mensal assinante* seu_pedido doaç*
it: paghe* acquist* comprare comprera* comprat* addebit* fattur* prezz* costo costi costerà abbon* sottoscri*
    carta_di_credito denaro donare donaz* pagat* pagare* pagamen*
nl: betaal* betal* *betaling* koop koopt kopen gekocht aankoop* kost prijs prijzen factu* bestel* afgeschreven
    creditcard* in_rekening tarief* doneer*
sv: köpa köper köps köpt köpte köpet *kostnad* kostar kosta priset priser faktur* prenum* avgift* debiter* kreditkort*
    beställ* köp_nu
da: køb købe køber købes købt koster omkostning* prisen gebyr* bestil*
no: kjøp* bestill*
fi: maksa* maksu* makset* ostaa ostat ostetaan ostami* ostos* hinta hinnat hinnan hinno* tilaus* laskut* veloit*
    luottokort* kustann* lahjoit*
pl: zapłac* zapłat* opłat* opłac* płacić płacisz płacon* kupić kupi kupno kupuj* zakup* koszt* cena ceny cenie cenę
    subskry* abonament* obciąż* zamów* zamaw* kredytow* odpłat* płatność płatnośc*
cs: platba platby platbu platební* platit* placen* koup* nákup* nakup* předplat* poplat* účtov* naúčt* objedn*
    kreditní*
sk: kúp* zakúp* predplat*
hu: *fizet* *vásárl* vásárol* költség* számla* számláz* díj díjat díjak díjköt* bankkárty* hitelkárty* terhel*
    adomány* rendelés* rendelj* megrendel*
ro: plată plății plățile plăti plătit* plătiț* plătest* cumpăr* achiziț* preț prețul prețuri abona* costa costul
    costuri taxă taxe card_de_credit
tr: ödem* öden* ödey* satın* ücret* fiyat* fatura* abone* kredi_kart* sipariş* tahsil* bağış*
ru: плати* платеж* платё* платн* платы плату плата заплат* оплат* оплач* уплат* выплат* покуп* купи* купл* приобре*
    стоимост* цена цены цену ценой подписк* списан* спишет* списыв* кредитн* банковск* заказ* пожертв* комисси* рубл*
    деньг* денег тариф*
uk: платіж* сплат* купу* купівл* придба* вартіст* ціна ціни ціну передплат* підписк* списа* гривн* грош* замовл*
zh: 付款 支付 付费 付費 缴费 繳費 购买 購買 购物 購物 价格 價格 价钱 費用 费用 收费 收費 扣款 扣费 扣費 订阅 訂閱 订购
    訂購 订单 訂單 账单 帳單 信用卡 充值 儲值 下单 结账 結帳 续费 續費 捐款 转账 轉帳 余额 餘額
ja: 支払 払い 払う 購入 買う 買い 料金 課金 有料 価格 値段 費用 代金 決済 クレジットカード サブスク 購読 注文 寄付
    振込 振り込 請求さ 請求し 請求書 請求額 請求金
ko: 결제 지불 구매 구입 요금 유료 청구 가격 비용 구독 신용카드 주문 송금 기부 과금 납부 이체 수수료
"""

_PERMISSION = """
en: permi* allow* grant* authori* privileg* elevat* escalat* sudo superuser* administrator* admin_rights as_root
    root_access root_privilege* root_user root_rights access_to full_access remote_access write_access read_access
    give*_.._access trust* consent* approv* accept_the_licen* accept_the_terms accept_terms accept_the_agreement agree
    agrees agreement* terms_of_service terms_of_use terms_and_conditions eula ownership chmod chown setuid suid
    credential* expos* firewall impersonat* unlock* bypass* unrestricted untrusted insecure unsafe disabl*_.._security
    disabl*_.._protection disabl*_.._verification disabl*_.._sandbox disabl*_.._antivirus
de: erlaub* gestatt* genehmig* *berechtig* *zugriff* zugang freigeb* *freigegeb* *freigabe* gib*_.._frei gewähr*
    autorisier* zustimm* einwillig* vertrau* *adminrecht* root_recht* rechte_.._gewähr* *administratorrecht*
    bevollmächt* nutzungsbedingung* lizenzbedingung* zulassen zugelassen lizenz_akzept* schreibrecht* zugriffsrecht*
fr: autoris* permet* accorde* accès_à accès_au accès_aux accès_complet accès_root l_accès privilèg* administrateur*
    approuv* conditions_d_utilisation habilit* confiance droits_d_admin* droits_d_acc* les_droits
es: autoriz* conced* otorg* acceso_a acceso_al acceso_total acceso_completo acceso_remoto dar_acceso privilegi*
    administrador* superusuari* aprob* condiciones confiar confía confianza derechos_de
pt: acesso_a acesso_ao acesso_total acesso_completo superusu* aprov* termos_de confia direitos_de_admin*
    direitos_de_acesso
it: permess* autorizz* concess* accesso_a accesso_al accesso_completo amministrator* approv* consens* fiduci*
    diritti_di_ammin* diritti_di_acces*
nl: toestaan *toestemming* toegesta* sta*_.._toe machtig* gemachtigd* toegang* bevoegd* beheerder* verleen* verlen*
    instem* vertrouw* goedkeur* goedgekeur* voorwaarden rechten
sv: tillåt* behörig* åtkomst* *rättighet* bevilja* godkänn* medge* samtyck* lita_på auktoriser* administratör*
da: tillad* *rettighed* bevilg* samtyk* autoriser* stoler_på adgang adgangen adgangsret* godkend godkendes godkender
    tilladels*
no: tillat* tilgang* *rettighet* innvilg* godkjenn* samtykk*
fi: salli* lupa luvan luvat luvalla *oikeud* *oikeuk* oikeus valtuu* pääsy* myönt* myönnet* hyväksy* suostu* luota
    luotat pääkäyttäj* ylläpitäj*
pl: zezw* pozwól pozwol* pozwal* uprawn* autoryz* upoważn* przyzna* zgoda zgodę zgody zaufa* zatwierdz* dostęp_do
    dostępu_do zgadzam prawa_dostępu
cs: povol* oprávn* přístup* uděl* souhlas* schvál* schval* důvěř* podmínk* práva
sk: prístup* súhlas* dôver* udelí udeliť udelen* práva
hu: enged* jogosult* hozzáfér* jogok jogot jogokat felhatalmaz* beleegyez* jóváhagy* rendszergazd* megbíz* hozzájárul*
    jogait jogai
ro: acces_la accesul acorda* acordă acordul drepturi* consim* încred*
tr: izin* izn* yetki* erişim* yönetici* güvenin güveniyor* müsaade
ru: разреш* позвол* доступ доступа доступу доступом права прав правами полномоч* привиле* авториз* администратор*
    довер* одобр* суперпольз* лицензионн* согласие согласия согласен согласны соглаш* предоставит* предоставлен*
uk: дозв* привіле* повноваж* надат* надан* адміністратор* згода згоду згоди погодж* довір* схвал*
zh: 权限 權限 授权 授權 允许 允許 许可 許可 准许 准許 批准 访问权 存取權 管理员 管理員 超级用户 超級使用者 信任 同意
    特权 特權
ja: 許可 権限 承認 認可 アクセスを アクセス権 特権 管理者 同意 信頼 付与 許諾 スーパーユーザ パーミッション
ko: 권한 허용 허가 승인 인가 접근을 동의 신뢰 부여 약관 관리자_권한 루트_권한
"""

_REBOOT = """
en: reboot* restart* shutdown* shut_down shuts_down shutting_down poweroff power_off powers_off powered_off
    powering_off power_down powers_down power_cycle* halt halts halted halting kill kills killed killing stopping
    stops_the stops_all stops_your stop_the stop_all stop_this stop_your stop_service* stop_container* be_stopped
    offline taken_down take_down takes_down go_down goes_down logout log_out logs_out log_off disconnect*
    be_interrupted hibernat* suspend* unmount* umount turn_off turns_off turned_off turning_off switch_off
    switched_off switches_off deactivat* terminate terminates terminated terminating termination
de: *neustart* neu_start* start*_.._neu neu_gestartet neugestartet neu_zu_starten herunterf* heruntergef* herunterzuf*
    fahr*_.._herunter abschalt* abgeschaltet abzuschalten ausschalt* ausgeschaltet auszuschalten schalt*_.._aus
    schalt*_.._ab wird_beendet werden_beendet *terminier* anhalten angehalten hält_.._an stoppt stoppen gestoppt
    abmeld* abgemeldet unterbrech* unterbroch* getötet töten killen gekillt
fr: redémarr* arrêt arrête* arrêté* éteind* éteint* éteig* interromp* interrompu* relanc* déconnect* hors_tension
    hors_ligne tuer sera_tué seront_tués
es: reinici* detener* detendr* detien* detenid* parar pararán parará matar matará interrump* desconect* rearranc*
    apagar* fuera_de_servicio detenci*
pt: deslig* parados paradas encerrad* encerrar* mortos interrompid*
it: riavvi* spegn* spento spenta spenti spente arrest* fermat* fermare fermerà fermeranno interrott* uccid* uccis*
    disconn* sospes* sospend*
nl: *herstart* opnieuw_gestart opnieuw_opgest* opnieuw_opstart* opnieuw_start* start*_.._opnieuw afsluiten afgesloten
    sluit*_.._af uitschakel* uitgeschakeld schakel*_.._uit uitzetten uitgezet stopgezet stopzet* stopt beëindig*
    onderbr* afgemeld gedood
sv: omstart* starta_om startar_om startas_om startas_.._om starta_.._om startar_.._om stäng*_av stäng*_.._av avstäng*
    stoppas stoppar avslutas avbryts dödas koppla*_från logga*_ut loggas_ut slås_av stängs_ned stäng*_ned nedstäng*
    stäng*_ner stäng*_.._ner
da: genstart* lukke*_ned luk_ned nedluk* sluk slukke* stoppes stopper afsluttes dræb* afbrydes logges_ud termineres
no: start*_på_nytt start*_.._på_nytt slå_av slås_av slår_av avsluttes drepes stenges skru*_av logges_ut blir_stoppet
    drept startes_om
fi: *uudelleenkäynn* käynnist*_uudelleen käynnist*_.._uudelleen uudelleen_käynnist* sammut* pysäyt* lopetetaan
    tapetaan keskeyt* katkais* katkea* tapettu tappaa tappav* suljetaan lopeta_prosess*
pl: zrestart* uruch*_ponownie* uruch*_.._ponownie ponown*_uruch* wyłącz* zamkn* zamyk* zatrzym* zabij* zabit* przerw*
    wylog* zostanie_zakończon* zostaną_zakończon*
cs: vypn* vypín* zastav* bude_ukončen* budou_ukončen* zabit* přeruš* odhláš* odpoj* ukončen* ukončuj*
sk: reštart* budú_ukončen* bude_ukončen* preruš* odhlás* ukončen*
hu: újraind* leáll* kikapcsol* megszak* bezár* kijelentk* kilöv* kilőv* kilőtt* kilöves*
ro: reporni* repornes* opresc oprește* opresț* întrerup* deconect* oprire* opriți va_fi_oprit* vor_fi_oprit*
    va_fi_închis* vor_fi_închis* omor* omoâr*
tr: yeniden_başla* kapat* kapan* durdur* öldür* sonlandır*
ru: перезагр* перезапус* перезапущ* выключ* отключ* останов* остано* будут_завершен* будет_завершен* завершит_работу
    завершает_работу завершение_работы завершить_процесс* убит* убить убьет прерв* прерыв* рестарт* гасит*
uk: перезавант* вимкн* вимик* зупин* буде_завершен* будуть_завершен* вбит* перерв* відключ* завершит*_роботу
    завершен*_робот* завершил*_роботу
zh: 重启 重啟 重新启动 重新啟動 重新开机 重新開機 关机 關機 关闭 關閉 停止 停机 停機 终止 終止 中断 中斷 断开 斷開
    中止 杀死 殺死 结束进程 下线 下線 停用 注销 登出 断电 斷電 終結 重啓
ja: 再起動 シャットダウン 停止 終了され 終了させ 終了します 電源 切断 強制終了 中断 ログアウト リブート 再始動
    再スタート
ko: 재부팅 재시작 다시_시작* 중지 중단 정지 전원 끕니 꺼집 꺼지 끄겠 로그아웃 종료합 종료됩 종료될 종료하 강제_종료
    시스템_종료* 시스템_끄* 연결을_끊* 죽이 죽임 끄기
"""

_PUBLICATION = """
en: publish* republish* publication* upload* push pushes pushed pushing deploy* redeploy* share shares sharing
    shared_with be_shared shared_to send sends sending sent_to be_sent transmit* submit* broadcast* production go_live
    goes_live going_live make_public makes_public made_public be_public make_it_public make_this_public
    make_the_repository_public mak*_.._public made_.._public publicly public_internet visible_to world_readable
    everyone disclos* reveal* leak leaks leaked telemetry analytics usage_data usage_statistics crash_report*
    diagnostic_data post_to posts_to be_posted posted_to release_to released_to be_released merge merges merged
    merging emailed mailed e_mailed announc* tweet* third_part* to_the_cloud transfer*_.._ownership
de: *veröffentlich* hochlad* hochgelad* hochzulad* lad*_.._hoch läd*_.._hoch teilen geteilt teilt gesend* versend*
    versand übermittel* übertrag* überträg* schick* geschickt verschick* abschick* *bereitstell* bereitgestellt
    ausroll* ausgeroll* einreich* preisgeb* nutzungsdaten* weitergeb* weitergegeb* produktiv* produktion* öffentlich
    senden sendet sendung* einsend* zusend* absend*
fr: publier publie publiée publiées publiés publiera publieront publiez rendu*_public* rendre_public* envoy* envoi
    envois envoie* téléver* transmet* transmis* mis_en_ligne mise_en_ligne diffus* déploy* déploi* pousse pousser
    poussé* soumet* soumis* divulgu* partager partagera partageront sera_partag* seront_partag*
es: envia* envie* envío* subir* subid* suben sube despleg* desplieg* difund* producción publicar* publicad* publicaci*
    publicó publiquen hacer*_público hará*_público compartir* comparta* será_compartid* serán_compartid*
pt: implant* envio produção compartilhar* compartilham* partilhar* será_compartilhad* serão_compartilhad*
    será_partilhad* serão_partilhad*
it: inviar* inviat* invier* invia invii inviando trasmett* trasmess* rilasci* spedi* produzione pubblicar* pubblicat*
    pubblicaz* pubblicher* condivider* condividi* sarà_condivis* saranno_condivis*
nl: publice* gepublice* geüpload* verzend* verzond* verstuur* verstuurd stuur stuurt sturen gestuurd openbaar* uitrol*
    uitgerol* doorstu* productie deelt wordt_gedeeld worden_gedeeld
sv: publicer* ladda*_upp laddas_upp uppladd* dela delas delar skicka* driftsätt* överför* lämna*_ut sända sändas sänds
    sänder sändes offentliggör*
da: udgiv* deler deles overfør* udrul* indsend* sendes offentliggør*
no: publiser* last*_opp opplast* utrull* rull*_ut offentliggjør*
fi: julkais* julkist* julkis* lähet* jaetaan jakaa jaettu jaat siirret* tuotanto*
pl: opublik* upubliczn* wysył* wysłan* wysłać wyśl* wyslij przesył* przesł* prześl* udostępn* wdroż* wdraż* wypchn*
    przekaz* produkc* ujawn* publikow* publikuj* publikac* publicznie
cs: zveřej* odesl* odešl* odesíl* zaslá* sdíl* nasad* nasaz* předá* nahraj* nahrá* poslán* poslat pošle pošlou posíl*
    veřejně
sk: odosl* odošl* odosiel* zdieľ* zverej* verejne posielan* poslan*
hu: közzé* nyilvános* feltölt* *küld* megoszt* továbbít* élesít*
ro: trimit* trimis* distribui* publicat* expedi* partajare va_fi_partajat* vor_fi_partajat* publicare
tr: yayın* yayım* gönder* karşıya_yükle* dağıt* herkese_açık canlıya aktarıl* paylaşıl* paylaşac* paylaşın*
ru: публик* опублик* отправ* отсыл* отошл* посыл* послан* выгруж* выгруз* подел* разверт* разверн* обнарод*
    общедоступн* выложит* выклад* раскры* разгла* продакшн* продакшен* в_прод передан* передать передаст* передад*
    публично закач*
uk: публік* опублік* надісл* надсил* надішл* відправ* вивантаж* поділ* розгорт* розгорн* загальнодоступ* оприлюд*
    публічно передан* передат*
zh: 发布 發布 發佈 发表 發表 上传 上傳 推送 部署 共享 分享 发送 發送 送出 传送 傳送 提交 公开 公開 上线 上線 泄露 洩漏
    生产环境 正式環境 投产 遥测 寄送
ja: 公開 発行 公表 アップロード プッシュ デプロイ 送信 送り 送る 送付 転送 投稿 配信 提出 本番 配布 リリース 共有さ
    共有し
ko: 게시 공개 발행 업로드 푸시 배포 전송 보내 보냅 보낼 제출 송신 출시 올립 올리 공유하 공유됩 공유될 공유할 공유합
"""

# What stands in a kind's list is refused, so a word goes where it speaks of most; the first that is found is named.
KINDS = {
    "deletion": _DELETION,
    "loss": _LOSS,
    "payment": _PAYMENT,
    "permission": _PERMISSION,
    "reboot": _REBOOT,
    "publication": _PUBLICATION,
}

# English stems that are known with a blank in the word ("re move").
CUT = """
delet eras remov overwrit wip destroy discard uninstall publish purchas replac reboot restart
"""

# Uses of these words that lose nothing; nothing else of the sentence is excused with them.
HARMLESS = """
usr_share local_share push_any_key push_a_key push_any_button push_a_button push_enter push_return push_the_enter
    push_the_return push_notification push_notifications permitted_by_law permitted_by_applicable_law
    published_by_the_free output_format file_format data_format date_format time_format log_format image_format
    edit_format message_format json_format format_string format_of_the en_charge wyłącznie kostenlos kostenfrei
许可证 許可證 使用許諾 共有ライブラリ 共享库 배포판
"""

# Counts of nothing, as package managers give them, without blanks: in front of the word, and behind it.
ZERO_COUNTS = """
toremove tobedeleted toberemoved tobereplaced packagesremoved packagestoremove packagestoberemoved removed deleted
    downgraded todelete todestroy destroyed replaced filesdeleted filesremoved lost errorslost packageslost
zuentfernen entfernt àenlever àsupprimer supprimés paraeliminar pareliminar eliminados aserremovidos aseremremovidos
    aremover removidos darimuovere rimossi teverwijderen verwijderd atttabort afinstalleres åfjerne fjernes
    poistettavaa usuwanych dousunięcia kodstranění naodstránenie eltávolítandó deșters paketkaldırılacak kaldırılacak
    пакетовудалено удалено пакетовбудетудалено відміченодлявидалення пакетівбудевилучено 개제거 个软件包将被删除
    個移除
"""
ZERO_COUNTS_BEHIND = """
removed removing deleted downgraded destroyed replaced lost
дляудаленияотмечено удалено 要卸载 移除 删除 刪除 削除 제거
"""
