/*===- Grammar.y - the grammar of .tplan -------------------------------------===
 *
 * docs/language.md explains it. Statements have no separators: each begins with a
 * keyword or a name that cannot continue an expression.
 *
 *===------------------------------------------------------------------------===*/
%define api.pure full
%define api.prefix {tplan_yy}
%define api.location.type {TplanRange}
%define parse.error custom
%locations
%param {tplan::parse::Syntax &syntax}
%expect 0

%code requires {
#include "lib/Parse/Syntax.h"
using namespace tplan::parse; // this header is read by two files of this folder
}

%code {
#include "lib/Parse/Nodes.h"
#define YYINITDEPTH 4096 // fixed, and enough for as many brackets as the token filter lets pass
#define YYMAXDEPTH YYINITDEPTH
#define YYLLOC_DEFAULT(Current, Rhs, N)                                                  \
  do {                                                                                   \
    (Current).begin = (N) ? YYRHSLOC(Rhs, 1).begin : YYRHSLOC(Rhs, 0).end;               \
    (Current).end = YYRHSLOC(Rhs, N).end;                                                \
  } while (0)
int tplan_yylex(TPLAN_YYSTYPE *value, TplanRange *range, Syntax &syntax);
static void tplan_yyerror(TplanRange *range, Syntax &syntax, const char *what);
}

%union {
  int64_t none;
  Expr *expr;
  std::vector<Expr *> *exprs;
  Arg *arg;
  std::vector<Arg> *args;
  std::vector<Name> *names;
  DimDecl *dim;
  std::vector<DimDecl> *dims;
  TypeExpr *type;
  std::vector<TypeExpr *> *types;
  Param *param;
  std::vector<Param> *params;
  ArgDecl *argDecl;
  std::vector<ArgDecl> *argDecls;
  Stmt *stmt;
  std::vector<Stmt *> *body;
  ListItem *listItem;
  std::vector<ListItem> *listItems;
  LayerDecl *layer;
  BlockDecl *block;
  Quantity *quantity;
  Item *item;
  std::vector<Item> *items;
  Setting *setting;
  std::vector<Setting> *settings;
  Segment *segment;
  SelectorItem *selectorItem;
  std::vector<SelectorItem> *selectorItems;
  Selector *selector;
  Number *number;
  WeightPath *weightPath;
  std::vector<WeightPath> *weightPaths;
  Factors *factors;
  std::vector<Factors> *layout;
  MapEntry *mapEntry;
  std::vector<MapEntry> *mapEntries;
  ConfigValue *configValue;
  std::vector<ConfigItem> *configItems;
}

%token END 0 "the end of the file"
%token START_FILE START_SETTING START_EXPR START_SELECTOR
%token <number> NUMBER "a number"
%token STRING "a string" IDENT "a name" UNIT "a unit" TIMES "x"
%token DOTS ".." ARROW "->"
%token IMPORT "import" LAYER "layer" MODEL "model" RECIPE "recipe" CLUSTER "cluster" PLAN "plan"
%token DEVICE "device" LINK "link"
%token ON "on" LINEAR "linear" TABLE "table" WEIGHT "weight" STATE "state" UPDATE "update"
%token METRIC "metric" LOSS "loss" INPUT "input" RETURN "return" FOR "for" IN "in" WITH "with"
%token AT "at" OVER "over" WEIGHTS "weights" EXCEPT "except" EVERY "every" KEEP "keep" TO "to"
%token OF "of" PER "per"
%token K_MODEL "model " K_DATA "data" K_BATCH "batch" K_LENGTH "length" K_OPTIMIZER "optimizer"
%token K_LR "lr" K_EVAL "eval" K_SAVE "save" K_MESH "mesh" K_MICROBATCH "microbatch"
%token K_SHARD "shard" K_LAYOUT "layout" K_ZERO "zero" K_PIPELINE "pipeline" K_STAGES "stages"
%token K_RECOMPUTE "recompute" K_OVERLAP "overlap" K_PRECISION "precision" K_COMPRESS "compress"
%token K_REDUCE "reduce" K_FUSE "fuse" K_READ "read" K_BETWEEN "between" K_INSIDE "inside" K_MEMORY "memory"
%token K_BANDWIDTH "bandwidth" K_COMPUTE "compute" K_EFFICIENCY "efficiency" K_LATENCY "latency"
%token K_LAUNCH "launch" K_UNITS "units" K_HOPS "hops"
%token K_CHANNELS "channels"

%type <expr> expr postfix primary count init ref
%type <exprs> exprs refs
%type <arg> arg
%type <args> args call_args brackets
%type <names> names over
%type <dim> dim
%type <dims> dims dim_list
%type <type> type
%type <types> types result
%type <param> param
%type <params> params sizes param_list
%type <argDecl> arg_decl
%type <argDecls> arg_decls
%type <stmt> stmt
%type <body> body
%type <listItem> list_item
%type <listItems> list_items
%type <layer> layer_head
%type <quantity> quantity
%type <item> data_item tokens lr_item eval_item save_item axis shard_item zero_word policy precision_item word rate overlap schedule compress_item
%type <items> data lrs evals saves axes shards zero_words policies precisions overlaps stages rates compressed
%type <setting> setting
%type <settings> settings
%type <segment> segment ranged_segment
%type <selectorItem> path more_path
%type <selectorItems> paths
%type <selector> selector
%type <none> bias config_sets layer_index
%type <names> strings config_keys
%type <weightPath> map_path
%type <weightPaths> map_paths
%type <factors> map_dim map_group
%type <layout> map_dims map_layout
%type <mapEntry> map
%type <mapEntries> maps
%type <configValue> config_value config_absent
%type <configItems> config_items

%left '|'
%left '&'
%left '+' '-'
%left '*' '/'
%precedence NEGATE

%%
start:
  START_FILE file
| START_SETTING setting     { syntax.setting = $2; }
| START_EXPR expr           { syntax.expr = $2; }
| START_SELECTOR selector   { syntax.selector = $2; }
;

file:
  %empty
| file declaration
| file error
;

declaration:
  IMPORT STRING             { Name n = syntax.name(@2);
                              syntax.file.imports.push_back({n.text.slice(1, n.text.size() - 1), n.loc}); }
| layer_head '{' body '}'   { $1->body = take($3); syntax.file.layers.push_back($1); }
| MODEL IDENT sizes '{' body '}' {
    auto *m = make<ModelDecl>(syntax);
    m->name = syntax.name(@2);
    m->params = take($3);
    m->body = take($5);
    syntax.file.models.push_back(m);
  }
| RECIPE IDENT '{' settings '}'  { syntax.file.blocks.push_back(block(syntax, BlockDecl::Recipe, @2, $4)); }
| RECIPE IDENT '=' IDENT '{' settings '}' {
    syntax.file.blocks.push_back(block(syntax, BlockDecl::Recipe, @2, $6, syntax.name(@4)));
  }
| CLUSTER IDENT '{' settings '}' { syntax.file.blocks.push_back(block(syntax, BlockDecl::Cluster, @2, $4)); }
| DEVICE STRING '{' settings '}' {
    syntax.file.blocks.push_back(block(syntax, BlockDecl::Device, @2, $4));
    syntax.file.blocks.back()->name = syntax.quoted(@2);
  }
| LINK IDENT '{' settings '}'    { syntax.file.blocks.push_back(block(syntax, BlockDecl::Link, @2, $4)); }
| PLAN IDENT ':' IDENT '{' settings '}' {
    syntax.file.blocks.push_back(block(syntax, BlockDecl::Plan, @2, $6, syntax.name(@4)));
  }
| PLAN IDENT ':' IDENT ON IDENT '{' settings '}' {
    syntax.file.blocks.push_back(
        block(syntax, BlockDecl::Plan, @2, $8, syntax.name(@4), syntax.name(@6)));
  }
;

/*--- layers and models -----------------------------------------------------*/

layer_head:
  LAYER IDENT params '(' arg_decls ')' ARROW result {
    $$ = make<LayerDecl>(syntax);
    $$->name = syntax.name(@2);
    $$->params = take($3);
    $$->args = take($5);
    $$->results = take($8);
  }
| IDENT layer_head {
    $$ = $2;
    if (syntax.name(@1).text == "norm")
      $$->norm = true;
    else
      syntax.report.error(Syntax::loc(@1), "unknown kind of layer, expected norm: {0}",
                          syntax.name(@1).text);
  }
;

params:
  %empty                    { $$ = nullptr; }
| '[' ']'                   { $$ = nullptr; }
| '[' param_list ']'        { $$ = $2; }
;
sizes:
  %empty                    { $$ = nullptr; }
| '(' ')'                   { $$ = nullptr; }
| '(' param_list ')'        { $$ = $2; }
;
param_list:
  param                     { $$ = one<Param>(syntax, *$1); }
| param_list ',' param      { $$ = push(syntax, $1, *$3); }
;
param:
  IDENT                     { $$ = make<Param>(syntax); $$->name = syntax.name(@1); }
| IDENT '=' expr            { $$ = make<Param>(syntax); $$->name = syntax.name(@1); $$->value = $3; }
| IDENT ':' LAYER           { $$ = make<Param>(syntax); $$->name = syntax.name(@1); $$->layer = true; }
| IDENT ':' LAYER '=' expr  { $$ = make<Param>(syntax); $$->name = syntax.name(@1);
                              $$->layer = true; $$->value = $5; }
;

arg_decls:
  %empty                    { $$ = nullptr; }
| arg_decl                  { $$ = one<ArgDecl>(syntax, *$1); }
| arg_decls ',' arg_decl    { $$ = push(syntax, $1, *$3); }
;
arg_decl:
  IDENT ':' type            { $$ = make<ArgDecl>(syntax); $$->name = syntax.name(@1); $$->type = $3; }
;
result:
  types
| '(' types ')'             { $$ = $2; }
;
types:
  type                      { $$ = one<TypeExpr *>(syntax, $1); }
| types ',' type            { $$ = push(syntax, $1, $3); }
;
type:
  '[' dim_list ']'          { $$ = tensorType(syntax, @1); $$->dims = take($2); }
| '[' DOTS ']'              { $$ = tensorType(syntax, @1); $$->rest = true; }
| '[' DOTS ',' dims ']'     { $$ = tensorType(syntax, @1); $$->rest = true; $$->dims = take($4); }
| IDENT                     { $$ = tensorType(syntax, @1);
                              $$->element = syntax.name(@1);
                              if ($$->element.text == "mask")
                                $$->kind = TypeExpr::Mask; }
| IDENT '[' dim_list ']'    { $$ = tensorType(syntax, @1); $$->element = syntax.name(@1);
                              $$->dims = take($3); }
| IDENT '[' DOTS ']'        { $$ = tensorType(syntax, @1); $$->element = syntax.name(@1);
                              $$->rest = true; }
| IDENT '[' DOTS ',' dims ']' { $$ = tensorType(syntax, @1); $$->element = syntax.name(@1);
                              $$->rest = true; $$->dims = take($5); }
;
dim_list:
  %empty                    { $$ = nullptr; }
| dims
;
dims:
  dim                       { $$ = one<DimDecl>(syntax, *$1); }
| dims ',' dim              { $$ = push(syntax, $1, *$3); }
;
dim:
  IDENT                     { $$ = make<DimDecl>(syntax); $$->name = syntax.name(@1); }
| IDENT AT IDENT count {
    $$ = make<DimDecl>(syntax);
    $$->name = syntax.name(@1);
    $$->atMost = $4;
    if (syntax.name(@3).text != "most")
      syntax.report.error(Syntax::loc(@3), "expected `at most` before a bound, found: at {0}",
                          syntax.name(@3).text);
  }
;

body:
  %empty                    { $$ = nullptr; }
| body stmt                 { $$ = $2 ? push(syntax, $1, $2) : $1; }
| body error
;

stmt:
  LINEAR names ':' dims ARROW dims init bias {
    $$ = stmt(syntax, Stmt::Linear, @1);
    $$->names = takeNames($2);
    $$->from = take($4);
    $$->to = take($6);
    if ($7)
      $$->values.push_back($7);
    $$->bias = $8;
  }
| TABLE names ':' dims ARROW dims init {
    $$ = stmt(syntax, Stmt::Table, @1);
    $$->names = takeNames($2);
    $$->from = take($4);
    $$->to = take($6);
    if ($7)
      $$->values.push_back($7);
  }
| WEIGHT names ':' '[' dim_list ']' init {
    $$ = stmt(syntax, Stmt::Weight, @1);
    $$->names = takeNames($2);
    $$->to = take($5);
    if ($7)
      $$->values.push_back($7);
  }
| STATE names ':' '[' dim_list ']' init {
    $$ = stmt(syntax, Stmt::State, @1);
    $$->names = takeNames($2);
    $$->to = take($5);
    if ($7)
      $$->values.push_back($7);
  }
| INPUT names ':' type {
    $$ = stmt(syntax, Stmt::Input, @1);
    $$->names = takeNames($2);
    $$->type = $4;
  }
| names ':' list_items {
    $$ = stmt(syntax, Stmt::Members, @1);
    $$->names = takeNames($1);
    $$->items = take($3);
  }
| names '=' expr {
    $$ = stmt(syntax, Stmt::Assign, @1);
    $$->names = takeNames($1);
    $$->values.push_back($3);
  }
| RETURN exprs {
    $$ = stmt(syntax, Stmt::Return, @1);
    $$->values = take($2);
  }
| FOR IDENT IN IDENT '{' body '}' {
    $$ = stmt(syntax, Stmt::For, @1);
    $$->names.push_back(syntax.name(@2));
    $$->list = syntax.name(@4);
    $$->body = take($6);
  }
| LOSS IDENT '=' expr {
    $$ = stmt(syntax, Stmt::Loss, @1);
    $$->names.push_back(syntax.name(@2));
    $$->values.push_back($4);
  }
| UPDATE IDENT '=' expr {
    $$ = stmt(syntax, Stmt::Update, @1);
    $$->names.push_back(syntax.name(@2));
    $$->values.push_back($4);
  }
| METRIC IDENT '=' expr {
    $$ = stmt(syntax, Stmt::Metric, @1);
    $$->names.push_back(syntax.name(@2));
    $$->values.push_back($4);
  }
| WEIGHTS IDENT '{' maps '}' {
    $$ = stmt(syntax, Stmt::WeightMap, @1);
    $$->names.push_back(syntax.name(@2));
    $$->maps = take($4);
  }
;

names:
  IDENT                     { $$ = one<Name>(syntax, syntax.name(@1)); }
| names ',' IDENT           { $$ = push(syntax, $1, syntax.name(@3)); }
;
init:
  %empty                    { $$ = nullptr; }
| '=' expr                  { $$ = $2; }
;
bias:
  %empty                    { $$ = 0; }
| WITH IDENT {
    $$ = 1;
    if (syntax.name(@2).text != "bias")
      syntax.report.error(Syntax::loc(@2), "expected `with bias`, found: with {0}",
                          syntax.name(@2).text);
  }
;

list_items:
  list_item                 { $$ = one<ListItem>(syntax, *$1); }
| list_items ',' list_item  { $$ = push(syntax, $1, *$3); }
;
list_item:
  ref                       { $$ = make<ListItem>(syntax); $$->refs.push_back($1);
                              $$->loc = Syntax::loc(@1); }
| ref TIMES count           { $$ = make<ListItem>(syntax); $$->refs.push_back($1);
                              $$->times = $3; $$->loc = Syntax::loc(@1); }
| '(' refs ')' TIMES count  { $$ = make<ListItem>(syntax); $$->refs = take($2);
                              $$->times = $5; $$->loc = Syntax::loc(@1); }
;
refs:
  ref                       { $$ = one<Expr *>(syntax, $1); }
| refs ',' ref              { $$ = push(syntax, $1, $3); }
;
ref:
  IDENT                     { $$ = syntax.node(Expr::Ref, @1.begin); $$->text = syntax.name(@1).text; }
| IDENT brackets            { $$ = syntax.node(Expr::Ref, @1.begin); $$->text = syntax.name(@1).text;
                              $$ = syntax.node(Expr::Specialise, @1.begin, $$, nullptr, $2); }
;
count:
  NUMBER                    { $$ = syntax.node(Expr::Literal, @1.begin); $$->number = *$1; }
| IDENT                     { $$ = syntax.node(Expr::Ref, @1.begin); $$->text = syntax.name(@1).text; }
| '(' expr ')'              { $$ = $2; }
;

maps:
  %empty                    { $$ = nullptr; }
| maps map                  { $$ = push(syntax, $1, std::move(*$2)); }
;
map: /* whether a path or a word stands in front shows after the strings */
  map_paths strings map_layout { $$ = make<MapEntry>(syntax, $3 ? MapEntry::Tensor : MapEntry::Word,
                                   take($1), takeNames($2), take($3)); }
| IDENT '{' config_items '}' { $$ = make<MapEntry>(syntax, MapEntry::Block);
                              $$->paths.push_back(*path(syntax, @1)); $$->items = take($3); }
;
map_paths:
  map_path                  { $$ = one<WeightPath>(syntax, *$1); }
| map_paths ',' map_path    { $$ = push(syntax, $1, *$3); }
;
map_path:
  IDENT                     { $$ = path(syntax, @1); }
| map_path '.' IDENT        { $$ = longer($1, syntax.name(@3).text); }
| map_path '.' WEIGHT       { $$ = longer($1, "weight"); }
| map_path '.' '{' IDENT '}' { $$ = numbered($1, syntax.name(@4)); }
;
strings:
  STRING                    { $$ = one<Name>(syntax, syntax.quoted(@1)); }
| strings ',' STRING        { $$ = push(syntax, $1, syntax.quoted(@3)); }
;
map_layout:
  %empty                    { $$ = nullptr; }
| '[' map_dims ']'          { $$ = $2; }
;
map_dims:
  map_dim                   { $$ = one<Factors>(syntax, *$1); }
| map_dims ',' map_dim      { $$ = push(syntax, $1, *$3); }
;
map_dim:
  IDENT                     { $$ = one<Factor>(syntax, factor(syntax, @1)); }
| '(' map_group ')'         { $$ = $2; }
;
map_group:
  IDENT                     { $$ = one<Factor>(syntax, factor(syntax, @1)); }
| NUMBER                    { $$ = one<Factor>(syntax, factor(@1, *$1)); }
| map_group IDENT           { $$ = push(syntax, $1, factor(syntax, @2)); }
| map_group NUMBER          { $$ = push(syntax, $1, factor(@2, *$2)); }
;
config_items:
  %empty                    { $$ = nullptr; }
| config_items config_keys config_absent config_sets config_value {
                              $$ = push(syntax, $1, ConfigItem{takeNames($2), $3, $5, $4 != 0}); }
;
config_keys:
  config_key                { $$ = one<Name>(syntax, syntax.name(@1)); }
| config_keys ',' config_key { $$ = push(syntax, $1, syntax.name(@3)); }
;
config_key: IDENT | config_key '.' IDENT ;
config_absent:
  %empty                    { $$ = nullptr; }
| '(' config_value ')'      { $$ = $2; }
;
config_sets: '=' { $$ = 0; } | ':' { $$ = 1; } ;
config_value:
  expr                      { $$ = configValue(syntax, @1, $1, nullptr); }
| STRING                    { $$ = configValue(syntax, @1, nullptr, one<Name>(syntax, syntax.quoted(@1))); }
| '[' strings ']'           { $$ = configValue(syntax, @1, nullptr, $2, /*isList=*/true); }
;

/*--- expressions -----------------------------------------------------------*/

exprs:
  expr                      { $$ = one<Expr *>(syntax, $1); }
| exprs ',' expr            { $$ = push(syntax, $1, $3); }
;
expr:
  postfix
| expr '+' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "+"; }
| expr '-' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "-"; }
| expr '*' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "*"; }
| expr '/' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "/"; }
| expr '&' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "&"; }
| expr '|' expr             { $$ = syntax.node(Expr::Binary, @2.begin, $1, $3); $$->text = "|"; }
| '-' expr %prec NEGATE     { $$ = syntax.node(Expr::Unary, @1.begin, $2); $$->text = "-"; }
;
postfix:
  primary
| postfix call_args         { $$ = syntax.node(Expr::Call, $1->loc.getPointer(), $1, nullptr, $2); }
| postfix brackets          { $$ = syntax.node(Expr::Specialise, $1->loc.getPointer(), $1, nullptr, $2); }
| postfix '.' IDENT         { $$ = syntax.node(Expr::Member, $1->loc.getPointer(), $1);
                              $$->text = syntax.name(@3).text; }
;
primary:
  IDENT                     { $$ = syntax.node(Expr::Ref, @1.begin); $$->text = syntax.name(@1).text; }
| NUMBER                    { $$ = syntax.node(Expr::Literal, @1.begin); $$->number = *$1; }
| '(' expr ')'              { $$ = $2; }
| '(' expr ',' exprs ')' {
    std::vector<Arg> *items = one<Arg>(syntax, {{}, $2, {}, nullptr});
    for (Expr *e : *$4)
      items->push_back({{}, e, {}, nullptr});
    $$ = syntax.node(Expr::Tuple, @1.begin, nullptr, nullptr, items);
  }
;
call_args:
  '(' ')'                   { $$ = nullptr; }
| '(' args ')'              { $$ = $2; }
;
brackets:
  '[' ']'                   { $$ = nullptr; }
| '[' args ']'              { $$ = $2; }
;
args:
  arg                       { $$ = one<Arg>(syntax, *$1); }
| args ',' arg              { $$ = push(syntax, $1, *$3); }
;
arg:
  expr                      { $$ = make<Arg>(syntax); $$->value = $1; }
| expr OVER IDENT           { $$ = make<Arg>(syntax); $$->value = $1; $$->over = syntax.name(@3); }
| IDENT '=' expr            { $$ = namedArg(syntax, @1, $3); }
| K_MEMORY '=' expr         { $$ = namedArg(syntax, @1, $3); /* auto(memory = 8) */ }
| PER '=' expr              { $$ = namedArg(syntax, @1, $3); /* current(per = sequence) */ }
| IDENT '=' expr EXCEPT path { $$ = namedArg(syntax, @1, $3); $$->except = selecting(syntax, *$5); }
;

/*--- recipes, clusters and plans -------------------------------------------*/

settings:
  %empty                    { $$ = nullptr; }
| settings setting          { $$ = push(syntax, $1, *$2); }
| settings error
;
setting:
  K_MODEL eq postfix        { Item *i = item(syntax, @3); i->expr = $3;
                              $$ = setting(syntax, @1, one<Item>(syntax, *i)); }
| K_DATA eq data            { $$ = setting(syntax, @1, $3); }
| counted eq quantity       { Item *i = item(syntax, @3); i->quantity = *$3; i->hasNumber = true;
                              $$ = setting(syntax, @1, one<Item>(syntax, *i)); }
| K_LR eq lrs               { $$ = setting(syntax, @1, $3); }
| K_EVAL eq evals           { $$ = setting(syntax, @1, $3); }
| K_SAVE eq saves           { $$ = setting(syntax, @1, $3); }
| K_MESH axes               { $$ = setting(syntax, @1, $2); }
| K_MESH IDENT ':' axes     { $$ = setting(syntax, @1, $4); $$->name = syntax.name(@2); }
| K_SHARD eq shards         { $$ = setting(syntax, @1, $3); }
| K_ZERO eq NUMBER over zero_words {
    $$ = setting(syntax, @1, $5);
    Item *i = item(syntax, @3);
    i->quantity.number = *$3;
    i->axes = takeNames($4);
    $$->items.insert($$->items.begin(), *i);
  }
| K_PIPELINE eq schedule    { $$ = setting(syntax, @1, one<Item>(syntax, *$3)); }
| K_PIPELINE eq IDENT STRING { /* from "orders.json" */
                              Item *i = quoted(syntax, @3, @4);
                              i->name = syntax.name(@3);
                              i->second = syntax.name(@4);
                              $$ = setting(syntax, @1, one<Item>(syntax, *i)); }
| K_STAGES eq stages        { $$ = setting(syntax, @1, $3); }
| K_RECOMPUTE eq policies   { $$ = setting(syntax, @1, $3); }
| K_OVERLAP eq overlaps     { $$ = setting(syntax, @1, $3); }
| K_PRECISION eq precisions { $$ = setting(syntax, @1, $3); }
| worded eq word            { $$ = setting(syntax, @1, one<Item>(syntax, *$3)); }
| K_COMPRESS eq word        { $$ = setting(syntax, @1, one<Item>(syntax, *$3)); }
| K_COMPRESS eq compressed  { $$ = setting(syntax, @1, $3); }
| K_READ eq word            { $$ = setting(syntax, @1, one<Item>(syntax, *$3)); }
| K_READ eq EVERY           { $$ = setting(syntax, @1, one<Item>(syntax, *named(syntax, @3))); }
| NUMBER UNIT OF NUMBER STRING {
    Item *i = item(syntax, @1);
    i->quantity = {*$1, syntax.name(@2), Syntax::loc(@1)};
    i->to = {*$4, {}, Syntax::loc(@4)};
    Name n = syntax.name(@5);
    i->string = n.text.slice(1, n.text.size() - 1);
    $$ = setting(syntax, @2, one<Item>(syntax, *i));
  }
| K_BETWEEN link            { $$ = setting(syntax, @1, nullptr); $$->items.push_back(*$<item>2); }
| K_INSIDE link             { $$ = setting(syntax, @1, nullptr); $$->items.push_back(*$<item>2); }
| rated eq rates            { $$ = setting(syntax, @1, $3); }
;
eq: %empty | '=' ;
rated: K_BANDWIDTH | K_COMPUTE | K_EFFICIENCY | K_LATENCY | K_LAUNCH | K_UNITS | K_HOPS
| K_CHANNELS ;
worded: K_OPTIMIZER | K_LAYOUT | K_REDUCE | K_FUSE ;
counted: K_BATCH | K_LENGTH | K_MICROBATCH | K_MEMORY ;

/* nodes: infiniband 400 Gb/s per gpu, rails 8 */
link:
  IDENT ':' IDENT quantity per rails {
    Item *i = named(syntax, @3);
    i->second = syntax.name(@1);
    i->quantity = *$4;
    i->names = takeNames($<names>5);
    if ($<item>6)
      i->to = $<item>6->quantity;
    $<item>$ = i;
  }
;
per:
  %empty                    { $<names>$ = nullptr; }
| PER IDENT                 { $<names>$ = one<Name>(syntax, syntax.name(@2)); }
| PER IDENT IDENT IDENT     { $<names>$ = push(syntax, push(syntax, push(syntax, (std::vector<Name> *)nullptr,
                                syntax.name(@2)), syntax.name(@3)), syntax.name(@4)); }
;
rails:
  %empty                    { $<item>$ = nullptr; }
| ',' IDENT NUMBER          { Item *i = named(syntax, @2); i->quantity = {*$3, {}, Syntax::loc(@3)};
                              $<item>$ = i;
                              if (i->name.text != "rails")
                                syntax.report.error(i->name.loc, "expected `rails`, found: {0}",
                                                    i->name.text); }
;

rates:
  rate                      { $$ = one<Item>(syntax, *$1); }
| rates ',' rate            { $$ = push(syntax, $1, *$3); }
;
rate: /* bf16 989 TFLOP/s */
  quantity                  { $$ = item(syntax, @1); $$->hasNumber = true; $$->quantity = *$1; }
| IDENT quantity            { $$ = named(syntax, @1); $$->hasNumber = true; $$->quantity = *$2; }
;

quantity:
  NUMBER                    { $$ = make<Quantity>(syntax); *$$ = {*$1, {}, Syntax::loc(@1)}; }
| NUMBER UNIT               { $$ = make<Quantity>(syntax); *$$ = {*$1, syntax.name(@2), Syntax::loc(@1)}; }
;
word:
  IDENT                     { $$ = named(syntax, @1); }
| IDENT call_args           { $$ = named(syntax, @1); $$->called = true; $$->args = take($2); }
| STRING                    { $$ = namedInQuotes(syntax, @1); }
;
overlaps:
  overlap                   { $$ = one<Item>(syntax, *$1); }
| overlaps ',' overlap      { $$ = push(syntax, $1, *$3); }
;
overlap: word { $$ = $1; } | K_ZERO { $$ = named(syntax, @1); };
data:
  data_item                 { $$ = one<Item>(syntax, *$1); }
| data ',' data_item        { $$ = push(syntax, $1, *$3); }
;
data_item:
  tokens                    { $$ = $1; }
| IDENT NUMBER tokens       { $$ = $3; $$->loc = Syntax::loc(@1); $$->name = syntax.name(@1);
                              $$->hasNumber = true; $$->quantity = {*$2, {}, Syntax::loc(@2)}; }
| IDENT IDENT STRING        { $$ = quoted(syntax, @1, @3); $$->name = syntax.name(@1);
                              $$->second = syntax.name(@2); }
| IDENT '=' expr            { $$ = named(syntax, @1); $$->expr = $3; }
;
/* A word before a path is a format, or the name of a source: whoever reads the line knows. After a
   number on its line it looks like a unit. */
tokens:
  STRING                    { $$ = quoted(syntax, @1, @1); }
| IDENT STRING              { $$ = quoted(syntax, @1, @2); $$->second = syntax.name(@1); }
| UNIT STRING               { $$ = quoted(syntax, @1, @2); $$->second = syntax.name(@1); }
;

lrs:
  lr_item                   { $$ = one<Item>(syntax, *$1); }
| lrs ',' lr_item           { $$ = push(syntax, $1, *$3); }
;
lr_item:
  NUMBER                    { $$ = item(syntax, @1); $$->hasNumber = true;
                              $$->quantity = {*$1, {}, Syntax::loc(@1)}; }
| IDENT quantity            { $$ = named(syntax, @1); $$->quantity = *$2; }
| IDENT quantity FOR quantity { $$ = named(syntax, @1); $$->quantity = *$2; $$->span = *$4; }
| IDENT quantity TO quantity { $$ = named(syntax, @1); $$->quantity = *$2; $$->to = *$4; }
| IDENT quantity TO quantity FOR quantity { $$ = named(syntax, @1); $$->quantity = *$2; $$->to = *$4;
                              $$->span = *$6; }
;

evals:
  eval_item                 { $$ = one<Item>(syntax, *$1); }
| evals ',' eval_item       { $$ = push(syntax, $1, *$3); }
;
eval_item:
  tokens                    { $$ = $1; }
| quantity                  { $$ = item(syntax, @1); $$->hasNumber = true; $$->quantity = *$1; }
| EVERY quantity            { $$ = named(syntax, @1); $$->quantity = *$2; }
;
saves:
  save_item                 { $$ = one<Item>(syntax, *$1); }
| saves ',' save_item       { $$ = push(syntax, $1, *$3); }
;
save_item:
  STRING                    { $$ = quoted(syntax, @1, @1); }
| EVERY quantity            { $$ = named(syntax, @1); $$->quantity = *$2; }
| KEEP quantity             { $$ = named(syntax, @1); $$->quantity = *$2; }
;

axes:
  axis                      { $$ = one<Item>(syntax, *$1); }
| axes ',' axis             { $$ = push(syntax, $1, *$3); }
;
axis: IDENT '=' NUMBER      { $$ = named(syntax, @1); $$->quantity = {*$3, {}, Syntax::loc(@3)}; };
shards:
  shard_item                { $$ = one<Item>(syntax, *$1); }
| shards ';' shard_item     { $$ = push(syntax, $1, *$3); }
;
shard_item:
  names OVER names          { $$ = item(syntax, @1); $$->names = takeNames($1); $$->axes = takeNames($3); }
| names OF IDENT OVER names { $$ = item(syntax, @1); $$->names = takeNames($1); $$->second = syntax.name(@3);
                              $$->axes = takeNames($5); }
;
over:
  %empty                    { $$ = nullptr; }
| OVER names                { $$ = $2; }
;
schedule:
  word                      { $$ = $1; }
| NUMBER UNIT               { $$ = item(syntax, @1); $$->name = syntax.name({@1.begin, @2.end}); } /* 1f1b */
| NUMBER UNIT call_args     { $$ = item(syntax, @1); $$->name = syntax.name({@1.begin, @2.end});
                              $$->called = true; $$->args = take($3); }
;
compressed:
  compress_item             { $$ = one<Item>(syntax, *$1); }
| compressed ';' compress_item { $$ = push(syntax, $1, *$3); }
;
compress_item: IDENT word over { $$ = $2; $$->second = syntax.name(@1); $$->axes = takeNames($3); };
zero_words:
  %empty                    { $$ = nullptr; }
| zero_words zero_word      { $$ = push(syntax, $1, *$2); }
;
zero_word: /* in `zero 2 accumulate local` the number makes the word a unit */
  IDENT IDENT               { $$ = named(syntax, @1); $$->second = syntax.name(@2); }
| UNIT IDENT                { $$ = named(syntax, @1); $$->second = syntax.name(@2); }
;
stages:
  NUMBER                    { Item *i = item(syntax, @1); i->quantity = {*$1, {}, Syntax::loc(@1)};
                              $$ = one<Item>(syntax, *i); }
| stages ',' NUMBER         { Item *i = item(syntax, @3); i->quantity = {*$3, {}, Syntax::loc(@3)};
                              $$ = push(syntax, $1, *i); }
;
policies:
  policy                    { $$ = one<Item>(syntax, *$1); }
| policies ';' policy       { $$ = push(syntax, $1, *$3); }
;
policy:
  IDENT                     { $$ = named(syntax, @1); }
| IDENT FOR selector        { $$ = named(syntax, @1); $$->selector = $3; }
;
precisions:
  precision_item            { $$ = one<Item>(syntax, *$1); }
| precisions ',' precision_item { $$ = push(syntax, $1, *$3); }
;
precision_item:
  word
| IDENT IDENT               { $$ = named(syntax, @1); $$->names.push_back(syntax.name(@2)); }
| word IN IDENT             { $$ = $1; $$->second = syntax.name(@3); }
| word FOR path             { $$ = $1; $$->selector = selecting(syntax, *$3); }
| word FOR path EXCEPT path { $$ = $1; $$->selector = selecting(syntax, *$3, $5); }
| more_path                 { $$ = selected(syntax, @1, *$1); }
| more_path EXCEPT path     { $$ = selected(syntax, @1, *$1, $3); }
| IDENT EXCEPT path         { $$ = selected(syntax, @1, *pathOf(syntax, @1, *segment(syntax, @1)), $3); }
;
/* What only a selector can be; a name alone is a word. */
more_path:
  ranged_segment            { $$ = pathOf(syntax, @1, *$1); }
| path '.' segment          { $$ = $1; $$->path.push_back(*$3); }
;

/*--- selectors -------------------------------------------------------------*/

selector:
  paths                     { $$ = make<Selector>(syntax); $$->include = take($1); }
| paths EXCEPT paths        { $$ = make<Selector>(syntax); $$->include = take($1); $$->except = take($3); }
;
paths:
  path                      { $$ = one<SelectorItem>(syntax, *$1); }
| paths ',' path            { $$ = push(syntax, $1, *$3); }
;
path:
  segment                   { $$ = pathOf(syntax, @1, *$1); }
| path '.' segment          { $$ = $1; $$->path.push_back(*$3); }
;
segment:
  IDENT                     { $$ = segment(syntax, @1); }
| '*'                       { $$ = segment(syntax, @1); }
| ranged_segment
;
ranged_segment:
  IDENT '[' layer_index ']' { $$ = ranged(segment(syntax, @1), @3, $3, $3); }
| IDENT '[' layer_index DOTS layer_index ']' { $$ = ranged(segment(syntax, @1), @3, $3, $5); }
;
layer_index:
  NUMBER                    { $$ = layerIndex(*$1, 1); }
| '-' NUMBER                { $$ = layerIndex(*$2, -1); }
;
%%

static void tplan_yyerror(TplanRange *range, Syntax &syntax, const char *) {
  // With custom errors Bison calls this only when its stack is full.
  syntax.refuseDepth(Syntax::loc(*range));
}

static int yyreport_syntax_error(const yypcontext_t *context, Syntax &syntax) {
  enum { Max = 5 }; // a full list does not fit; the count is then 0
  yysymbol_kind_t expected[Max + 1], found = yypcontext_token(context);
  int count = yypcontext_expected_tokens(context, expected, Max + 1);
  llvm::SmallVector<llvm::StringRef> names;
  for (int i = 0; i < count; ++i)
    names.push_back(yysymbol_name(expected[i]));
  reportUnexpected(syntax, *yypcontext_location(context), found == YYSYMBOL_IDENT,
                   yysymbol_name(found), names);
  return 0;
}
