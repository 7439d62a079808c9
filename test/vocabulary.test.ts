// Checks that names, comments and documentation use the words of the field (Ethereum, HTTP, SQL, TypeScript) instead of
// words that only this project would understand.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { test } from 'node:test'

const root = normalize(join(import.meta.dirname, '..'))
const read = (file: string) => ({ file, text: readFileSync(join(root, file), 'utf8') })

/**
 * Words that are no names here, because the field has another word for the concept. Some words are not in these lists,
 * because they can also be the exact word for what they name: answer, guard, line, listed, marks, moves, ready, turns,
 * word and wrong.
 */
const wordsToReplace = new Map(
  Object.entries({
    abilities: 'capabilities',
    admission: 'authorization',
    admit: 'authorize',
    arrival: 'request, call',
    asked: 'input, query',
    beside: 'next to, via the running server',
    breath: 'event loop turn',
    claim: 'credentials',
    conform: 'conformance',
    departure: 'response',
    desk: 'context',
    door: 'HTTP server',
    enrol: 'sync registry',
    fence: 'transaction guard',
    gathering: 'group commit',
    hook: 'anchor block, callback',
    house: 'app',
    keyframes: 'snapshots',
    lapse: 'missed duty',
    ledger: 'usage counter',
    library: 'record graph, package',
    looked: 'found, read',
    looks: 'reads, requests',
    manner: 'query settings',
    mill: 'epoch processor',
    nobody: 'anonymous, empty',
    parties: 'callers',
    party: 'caller',
    piece: 'segment, part',
    place: 'route, position, location',
    reach: 'connectivity',
    recheck: 'verify',
    refine: 'normalize',
    repeats: 'log throttle',
    room: 'capacity',
    said: 'text, message',
    say: 'report, print',
    says: 'message',
    seam: 'continuity',
    shape: 'format, pattern',
    shelf: 'cache',
    sightings: 'presence',
    sim: 'simulator',
    spellings: 'aliases',
    stand: 'state',
    standing: 'coverage, status',
    stranger: 'anonymous caller',
    tell: 'report',
    told: 'reported',
    upkeep: 'operations',
    visit: 'request info',
    way: 'route',
  }),
)

/** Forms of these words that name something else: a server conforms, Node has hooks, a decimal has places. */
const otherForms: ReadonlySet<string> = new Set(['conforms', 'hooks', 'places'])

/** Words that may be a part of a name, but alone do not say what they name. */
const wordsNotAlone = new Map(
  Object.entries({
    here: 'the noun: folder, location, path',
    look: 'read, find',
    moved: 'the noun: rows, tables, context',
    near: 'the noun',
    own: 'the noun: expected, rows, settings',
    turn: 'round, tick, result',
  }),
)

/** Names that contain one of the words for another reason. */
const exceptionsOfNames: Record<string, string> = {
  createHook: 'a function of Node',
  house_bond: 'a field of a test record',
  placeName: 'the name of a city or a street',
  placeNames: 'the names of cities and streets',
  visit: 'a function that is called for each node of a tree',
}

/** Words of the list that no comment and no page uses either, because they have no other meaning in this project. */
const wordsNotInProse =
  /\b(breath|enrol(?:led|s)?|fenced?|keyframes?|lapsed?|ledger|mill|sightings?|shelf|shelves|standing|strangers?|upkeep)\b/i

/** Variables, parameters, functions, types and members. */
function declaredNames(text: string): string[] {
  const code = text
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|\s)\/\/.*$/gm, '')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\\n]|\\.)*`/g, '')
  const found = code.matchAll(
    /\b(?:const|let|function|class|interface|type|async|readonly)\s+#?([A-Za-z]\w*)|(?<=[[({,]\s*)([a-z]\w*)(?=\s*[\]:,)=}])/g,
  )
  return [...found].map(([, declared, member]) => declared ?? member ?? '')
}

/** The word of a name that has to be replaced, and by what. */
function wordToReplace(name: string): string | undefined {
  if (Object.hasOwn(exceptionsOfNames, name)) return undefined
  const parts = name.split(/(?=[A-Z])|[_.-]/).map((part) => part.toLowerCase())
  const replacements = parts
    .filter((part) => !otherForms.has(part))
    .map((part) => wordsToReplace.get(part) ?? wordsToReplace.get(part.replace(/s$/, '')))
  return replacements.find(Boolean) ?? wordsNotAlone.get(name)
}

const sources = globSync('{api,server,cli,conformance,console,simulator,docs,bench,test}/**/*.{ts,tsx}', {
  cwd: root,
  exclude: ['api/dist/**', 'console/dist/**'],
})
  .filter((file) => join(root, file) !== import.meta.filename)
  .map(read)

test('names use the words of the field', () => {
  const code =
    "// const house = 1\nconst myDesk = 'door'\nfunction openShelf({ fence, mill: b }: X) {}\nconst [own] = a\n"
  assert.deepEqual(declaredNames(code), ['myDesk', 'openShelf', 'fence', 'mill', 'own'])
  assert.deepEqual(['openShelf', 'desks', 'own', 'ownRows', 'visit'].map(wordToReplace), [
    wordsToReplace.get('shelf'),
    wordsToReplace.get('desk'),
    wordsNotAlone.get('own'),
    undefined,
    undefined,
  ])
  const names = sources.map(({ file, text }) => {
    const fileNames = file.replace(/(\.test)?\.tsx?$/, '').split('/')
    return { file, names: [...new Set([...fileNames, ...declaredNames(text)])] }
  })
  const violations = names.flatMap(({ file, names }) =>
    names.flatMap((name) => {
      const replacement = wordToReplace(name)
      return replacement === undefined ? [] : [`${file}: ${name}; use: ${replacement}`]
    }),
  )
  assert.deepEqual(violations, [])
  const used = new Set(names.flatMap(({ names }) => names))
  assert.deepEqual(
    Object.keys(exceptionsOfNames).filter((name) => !used.has(name)),
    [],
    'these exceptions are not needed',
  )
})

test('comments and documentation use the words of the field', () => {
  const comments = sources.flatMap(({ file, text }) =>
    text.split('\n').map((line, index) => ({
      at: `${file}:${index + 1}`,
      prose: /^\s*(?:\/\/|\/?\*)(.*)$|\s\/\/ (.*)$/.exec(line)?.slice(1).join(' ') ?? '',
    })),
  )
  const pages = globSync('{*.md,{docs,examples,ops}/**/*.{md,yaml,yml}}', { cwd: root })
    .map(read)
    .flatMap(({ file, text }) => text.split('\n').map((prose, index) => ({ at: `${file}:${index + 1}`, prose })))
  assert.ok(comments.length > 10_000 && pages.length > 5000, `${comments.length} and ${pages.length} lines`)
  const violations = [...comments, ...pages].filter(({ prose }) => wordsNotInProse.test(prose))
  assert.deepEqual(violations, [])
})
