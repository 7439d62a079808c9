// Executes the steps of a container file without a container engine. Each stage has a folder that stands for its file
// system: absolute paths of COPY, RUN and WORKDIR are below it. RUN runs with the programs of this machine.
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { appendFile, cp, mkdir, symlink } from 'node:fs/promises'
import { basename, delimiter, dirname, join, matchesGlob, relative, resolve } from 'node:path'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** The programs of this machine, without those of this checkout. */
export const hostFolders: readonly string[] = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))

export interface Step {
  readonly instruction: string
  readonly text: string
}

export interface Stage {
  readonly name: string
  readonly steps: readonly Step[]
}

/** In the order of the file. A stage without a name is named by its number. */
export function parseContainerFile(text: string): readonly Stage[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const steps = lines.filter(Boolean).map((line) => {
    const [, instruction = '', rest = ''] = /^(\w+) (.*)$/.exec(line) ?? []
    return { instruction, text: rest }
  })
  const starts = steps.flatMap(({ instruction }, at) => (instruction === 'FROM' ? [at] : []))
  return starts.map((start, at) => ({
    name: / AS (\S+)$/.exec(steps[start]?.text ?? '')?.[1] ?? String(at),
    steps: steps.slice(start + 1, starts[at + 1]),
  }))
}

/** The text of the last step of a kind, such as `USER`. */
export const settingOf = ({ steps }: Stage, instruction: string): string =>
  steps.findLast((step) => step.instruction === instruction)?.text ?? ''

export interface BuiltStage {
  /** The folder that stands for `/`. */
  readonly root: string
  readonly workDir: string
  readonly env: Readonly<Record<string, string>>
}

interface BuildOptions {
  /** The folder to build from, and its ignore file. */
  readonly context: string
  readonly ignoreFile: string
  /** Variables for RUN, besides those of the file. */
  readonly env: Readonly<Record<string, string>>
  /** Returns the command to run instead; an empty text for none. */
  readonly replaceRun?: (command: string, workDir: string) => Promise<string>
}

/** Executes one stage in an empty folder. `earlier` are the stages that it may copy from. */
export async function buildStage(
  { steps }: Stage,
  root: string,
  earlier: Readonly<Record<string, BuiltStage>>,
  options: BuildOptions,
): Promise<BuiltStage> {
  await makeBaseImage(root)
  const isIgnored = readIgnoreFile(options.ignoreFile)
  let workDir = root
  let env: Record<string, string> = { PATH: [join(root, 'usr/local/bin'), ...hostFolders].join(delimiter) }
  for (const { instruction, text } of steps) {
    if (instruction === 'WORKDIR') {
      workDir = join(root, text)
      await mkdir(workDir, { recursive: true })
    } else if (instruction === 'ENV') {
      env = { ...env, ...parseVariables(text, root, env) }
    } else if (instruction === 'COPY') {
      const [, from, ...paths] = /^(?:--from=(\S+) )?(.+) (\S+)$/.exec(text) ?? []
      const [sources = '', target = ''] = paths
      const origin = from === undefined ? options.context : (earlier[from]?.root ?? `no stage ${from}`)
      const isLeftOut = from === undefined ? isIgnored : () => false
      const destination = target.startsWith('/') ? join(root, target) : resolve(workDir, target)
      for (const source of sources.split(' ')) await copy(origin, source, destination, target.endsWith('/'), isLeftOut)
    } else if (instruction === 'RUN') {
      const command = (await options.replaceRun?.(text, workDir)) ?? text
      // Only root can give files to others.
      const asUser = process.getuid?.() === 0 ? command : command.replaceAll(/--(owner|group)=\S+ /g, '')
      const inRoot = asUser.replaceAll(/(?<= )\/(?=\w)/g, `${root}/`)
      if (inRoot) await execute('sh', ['-ec', inRoot], { cwd: workDir, env: { ...env, ...options.env } })
    }
  }
  return { root, workDir, env }
}

/** What the steps need of the base image: Node, and a list of users. */
async function makeBaseImage(root: string): Promise<void> {
  for (const folder of ['usr/local/bin', 'etc', 'tmp']) await mkdir(join(root, folder), { recursive: true })
  await symlink(process.execPath, join(root, 'usr/local/bin/node'))
  await appendFile(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
}

function parseVariables(text: string, root: string, env: Readonly<Record<string, string>>): Record<string, string> {
  const pairs = text.split(' ').map((pair) => /^(\w+)=(.*)$/.exec(pair)?.slice(1) as [string, string])
  return Object.fromEntries(
    pairs.map(([name, value]) => [
      name,
      value.replace(/^\//, `${root}/`).replaceAll(/\$(\w+)/g, (_, used) => env[used] ?? ''),
    ]),
  )
}

async function copy(
  origin: string,
  source: string,
  destination: string,
  isIntoFolder: boolean,
  isLeftOut: (path: string) => boolean,
): Promise<void> {
  if (source === '.')
    return cp(origin, destination, { recursive: true, filter: (file) => !isLeftOut(relative(origin, file)) })
  const found = globSync(source.replace(/^\//, ''), { cwd: origin })
  if (found.length === 0) throw new Error(`COPY ${source}: there is no such file`)
  for (const path of found) {
    if (isLeftOut(path)) throw new Error(`COPY ${source}: the ignore file excludes it`)
    const target = isIntoFolder ? join(destination, basename(path)) : destination
    await mkdir(dirname(target), { recursive: true })
    await cp(join(origin, path), target, {
      recursive: true,
      filter: (file) => !isLeftOut(relative(origin, file)),
    })
  }
}

/** The last line that matches a path or a folder above it decides. */
export function readIgnoreFile(file: string): (path: string) => boolean {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  return (path) => {
    if (path === '') return false
    const parts = path.split('/')
    const prefixes = parts.map((_, at) => parts.slice(0, at + 1).join('/'))
    const decisive = lines.findLast((line) => prefixes.some((prefix) => matchesGlob(prefix, line.replace(/^!/, ''))))
    return decisive !== undefined && !decisive.startsWith('!')
  }
}
