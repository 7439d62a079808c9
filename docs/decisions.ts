// Writes the index of the decisions from their own first lines, by subject. A page whose number no subject claims is
// listed at the end, so that adding one never means coming here first.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, 'decisions')

const intro = `# Decisions

The specification of the four interfaces leaves some things open. Each page here settles one of them, or records a close
call about how the house is built; the code cites the number at the line that depends on it. A landed decision is not
rewritten: a better one gets a new number and says which one it replaces.

Numbers only tell pages apart: they were given out as things were built, so a subject has several runs of them.
\`npm run docs\` writes this list.`

/** Subject → the runs of numbers it has, first and last; no two may overlap. */
export const subjects: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>> = {
  'The wire, keys, limits, configuration': [
    [1, 9],
    [49, 49],
    [163, 163],
    [195, 199],
  ],
  'Explorer (group A)': [
    [10, 19],
    [65, 69],
    [90, 99],
    [149, 149],
    [160, 162],
    [164, 165],
    [170, 174],
  ],
  'FX quotes (group B)': [
    [20, 29],
    [80, 89],
    [132, 132],
    [180, 184],
  ],
  'Validator ratings (group C)': [
    [30, 39],
    [74, 79],
    [100, 109],
    [120, 124],
    [155, 159],
    [166, 167],
    [185, 189],
  ],
  'Prediction markets (group D)': [
    [40, 48],
    [70, 73],
    [128, 128],
    [190, 194],
  ],
  'How the house is built': [
    [50, 54],
    [57, 57],
    [63, 64],
    [151, 151],
  ],
  'The client and the contract': [[58, 62]],
  'Running it: commands, upkeep, the doctor': [
    [55, 56],
    [110, 115],
    [129, 131],
    [133, 134],
    [168, 169],
  ],
  'The console': [[125, 127]],
  'The simulated world': [[116, 119]],
  'The state on PostgreSQL': [[135, 139]],
  'Several servers': [
    [140, 144],
    [150, 150],
    [152, 154],
  ],
}

interface Page {
  readonly file: string
  readonly number: number
  readonly title: string
}

export function decisionsPage(pages: readonly Page[] = pagesThere()): string {
  const isOf = ({ number }: Page, subject: string) =>
    subjects[subject]?.some(([first, last]) => first <= number && number <= last) ?? false
  const names = Object.keys(subjects)
  const sections = names.map((name) =>
    section(
      name,
      pages.filter((page) => isOf(page, name)),
    ),
  )
  const others = pages.filter((page) => !names.some((name) => isOf(page, name)))
  return `${[intro, ...sections, section('Others', others)].filter((text) => text !== '').join('\n\n')}\n`
}

function section(name: string, pages: readonly Page[]): string {
  if (pages.length === 0) return ''
  const lines = pages.map(({ file, number, title }) => `- [${String(number).padStart(4, '0')}](${file}) ${title}`)
  return [`## ${name}`, '', ...lines].join('\n')
}

function pagesThere(): readonly Page[] {
  const files = readdirSync(folder).filter((name) => /^\d{4}-.*\.md$/.test(name))
  return files.toSorted().map((file) => {
    const [first = ''] = readFileSync(join(folder, file), 'utf8').split('\n', 1)
    const [, digits = '', title = ''] = /^# (\d{4}) (\S.*)$/.exec(first) ?? []
    if (digits === '' || !file.startsWith(`${digits}-`)) {
      throw new Error(`docs/decisions/${file} must begin with "# ${file.slice(0, 4)} Its title", not with "${first}"`)
    }
    return { file, number: Number(digits), title }
  })
}
