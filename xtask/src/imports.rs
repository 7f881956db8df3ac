//! Which module of a crate reads which, from the sources alone, and the knots in that.
//!
//! Modules of one parent must form no cycle, at every depth: a reader who opens a file should find
//! what it rests on below it, never around it. A name that a parent re-exports counts as the module
//! that defines it. Test modules may look wherever they like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A module's path below its crate, `[]` being the root.
type Module = Vec<String>;

/// The modules of a crate with what each re-exports and reads.
struct Crate {
    modules: BTreeMap<Module, Source>,
}

#[derive(Default)]
struct Source {
    /// Paths that the module names, as written.
    named: Vec<Vec<String>>,
    /// What it re-exports: the name here, and the path that it stands for (`*` for a glob).
    exported: Vec<(String, Vec<String>)>,
}

/// Modules of one parent that read one another in a circle.
pub struct Knot {
    /// The module that holds them.
    pub parent: String,
    /// Their names.
    pub modules: Vec<String>,
    /// How many modules the parent has.
    pub of: usize,
    /// The imports that close it: which file says which path.
    pub imports: Vec<String>,
}

/// Who reads whom among siblings, with the places that say so.
type Edges = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The knots of the crate whose sources lie in `src`.
pub fn knots(src: &Path) -> Result<Vec<Knot>, String> {
    let known = Crate::read(src)?;
    let mut below: BTreeMap<Module, Edges> = BTreeMap::new();
    for module in known.modules.keys() {
        if let Some((name, parent)) = module.split_last() {
            below.entry(parent.to_vec()).or_default().entry(name.clone()).or_default();
        }
    }
    for (module, source) in &known.modules {
        for path in &source.named {
            let Some(target) = known.resolve(module, path, 0) else { continue };
            let shared = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                let siblings = below.entry(module[..shared].to_vec()).or_default();
                let said = format!("{} says {}", module.join("::"), path.join("::"));
                let targets = siblings.entry(from.clone()).or_default();
                targets.entry(to.clone()).or_default().insert(said);
            }
        }
    }
    let mut found = Vec::new();
    for (parent, edges) in &below {
        for modules in circles(edges) {
            let parent = if parent.is_empty() { "crate".into() } else { parent.join("::") };
            let among = |name: &String| modules.contains(name);
            let inside = edges.iter().filter(|(from, _)| among(from));
            let inside = inside.flat_map(|(from, to)| to.iter().filter(move |(to, _)| *to != from));
            let said = inside.filter(|(to, _)| among(to)).flat_map(|(_, said)| said.clone());
            let imports = said.collect();
            found.push(Knot { parent, modules, of: edges.len(), imports });
        }
    }
    Ok(found)
}

/// Sets of two or more modules that reach each other.
fn circles(edges: &Edges) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        edges.keys().map(|from| (from, reached(edges, from))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (from, there) in &reached {
        let is_known = found.iter().flatten().any(|name| name == *from);
        if is_known || !there.contains(*from) {
            continue;
        }
        let back = |to: &&&String| reached[**to].contains(*from);
        found.push(there.iter().filter(back).map(|name| (*name).clone()).collect());
    }
    found.retain(|modules| modules.len() > 1);
    found
}

/// Everything that a module reads, directly or through others.
fn reached<'e>(edges: &'e Edges, from: &'e String) -> BTreeSet<&'e String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(at) = next.pop() {
        next.extend(
            edges.get(at).into_iter().flat_map(|to| to.keys()).filter(|to| seen.insert(*to)),
        );
    }
    seen
}

impl Crate {
    fn read(src: &Path) -> Result<Self, String> {
        let mut modules = BTreeMap::new();
        for file in files(src, "rs")? {
            let below = file.strip_prefix(src).map_err(|error| error.to_string())?;
            let mut module: Module = below
                .with_extension("")
                .iter()
                .map(|part| part.to_string_lossy().into_owned())
                .collect();
            if module.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
                module.pop();
            }
            if module.last().is_some_and(|name| name == "tests" || name.ends_with("_tests")) {
                continue;
            }
            let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let tokens: TokenStream =
                text.parse().map_err(|error| format!("{}: {error}", file.display()))?;
            let source: &mut Source = modules.entry(module).or_default();
            source.collect(tokens, 0);
        }
        Ok(Self { modules })
    }

    /// The deepest module that a path leads to, seen from `module`.
    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<Module> {
        if depth > 8 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at: Module = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module[..module.len().checked_sub(1)?].to_vec(),
            name => {
                let child = [module, &[name.to_owned()]].concat();
                self.modules.contains_key(&child).then_some(child)?
            }
        };
        while let Some((name, further)) = rest.split_first() {
            if name == "super" {
                at.pop()?;
                rest = further;
                continue;
            }
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            if self.modules.contains_key(&child) {
                at = child;
                rest = further;
                continue;
            }
            let source = self.modules.get(&at)?;
            let named = source.exported.iter().find(|(export, _)| export == name);
            let globs = source.exported.iter().filter(|(export, _)| export == "*");
            if let Some((_, stands_for)) = named {
                let whole = [stands_for.as_slice(), further].concat();
                return self.resolve(&at, &whole, depth + 1).or(Some(at));
            }
            for (_, glob) in globs {
                let whole = [glob.as_slice(), rest].concat();
                if let Some(found) = self.resolve(&at, &whole, depth + 1)
                    && found != at
                {
                    return Some(found);
                }
            }
            return Some(at);
        }
        Some(at)
    }
}

impl Source {
    /// Takes in the paths of a stream of tokens; `deep` counts the inline modules around it.
    fn collect(&mut self, tokens: TokenStream, deep: usize) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let word = |at: usize| match trees.get(at) {
            Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
            _ => None,
        };
        let mut at = 0;
        while at < trees.len() {
            // `#[cfg(test)]` and the item that it stands before.
            if is_for_tests(&trees, at) {
                at += 2;
                while at < trees.len() && !ends_item(&trees[at]) {
                    at += 1;
                }
                at += 1;
                continue;
            }
            match (&trees[at], word(at).as_deref()) {
                (_, Some("use")) => {
                    let end = (at..trees.len()).find(|i| is_punct(&trees[*i], ';'));
                    let end = end.unwrap_or(trees.len());
                    let is_public = at > 0
                        && (word(at - 1).as_deref() == Some("pub")
                            || at > 1 && word(at - 2).as_deref() == Some("pub"));
                    for (name, path) in use_paths(&trees[at + 1..end]) {
                        if is_public && deep == 0 {
                            self.exported.push((name, path.clone()));
                            // A parent that shows what its children hold does not read them.
                            continue;
                        }
                        // A private import of a root is seen by its children through `crate::`.
                        self.exported.push((name, path.clone()));
                        self.named.push(path);
                    }
                    at = end;
                }
                (_, Some("crate" | "super" | "self")) => {
                    let mut path = vec![word(at).unwrap_or_default()];
                    let mut next = at + 1;
                    while next + 2 < trees.len()
                        && is_punct(&trees[next], ':')
                        && is_punct(&trees[next + 1], ':')
                        && word(next + 2).is_some()
                    {
                        path.push(word(next + 2).unwrap_or_default());
                        next += 3;
                    }
                    if path.len() > 1 {
                        self.named.push(path);
                    }
                    at = next - 1;
                }
                (TokenTree::Group(group), _) => {
                    let deep = deep + usize::from(group.delimiter() == Delimiter::Brace);
                    self.collect(group.stream(), deep);
                }
                _ => {}
            }
            at += 1;
        }
    }
}

fn is_punct(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn ends_item(tree: &TokenTree) -> bool {
    let is_body = matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    is_body || is_punct(tree, ';')
}

fn is_for_tests(trees: &[TokenTree], at: usize) -> bool {
    let Some(TokenTree::Group(group)) = trees.get(at + 1) else { return false };
    is_punct(&trees[at], '#')
        && group.delimiter() == Delimiter::Bracket
        && group.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// The names and paths of a use tree without its `use` and `;`.
fn use_paths(trees: &[TokenTree]) -> Vec<(String, Vec<String>)> {
    let (mut path, mut at) = (Vec::new(), 0);
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(ident) if ident == "as" => {
                let name = trees.get(at + 1).map_or_else(String::new, ToString::to_string);
                return vec![(name, path)];
            }
            TokenTree::Ident(ident) => path.push(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                return vec![("*".to_owned(), path)];
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts = inner.split(|tree| is_punct(tree, ','));
                return parts
                    .filter(|part| !part.is_empty())
                    .flat_map(use_paths)
                    .map(|(name, below)| {
                        let is_self = below == ["self"];
                        let name = if is_self { path.last().cloned() } else { Some(name) };
                        let below = if is_self { &[][..] } else { &below[..] };
                        (name.unwrap_or_default(), [path.as_slice(), below].concat())
                    })
                    .collect();
            }
            _ => {}
        }
        at += 1;
    }
    let name = path.last().cloned().unwrap_or_default();
    vec![(name, path)]
}

/// Every file of a kind below a folder, in order.
pub fn files(folder: &Path, kind: &str) -> Result<Vec<PathBuf>, String> {
    let unread = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if path.is_dir() {
            found.extend(files(&path, kind)?);
        } else if path.extension().is_some_and(|ending| ending == kind) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
