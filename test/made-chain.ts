// Chains that the library makes (make-chain.ts), in a process of their own.
import { type ExecFileException, execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isNativeInstalled } from '#validators/chain/native-library.ts'
import type { MadeChain, MadeChainOptions } from './make-chain.ts'

export interface OpenedChain extends AsyncDisposable, MadeChain {
  readonly stateFile: string
  /** The signed block of a slot, or a wrong variant of the last block, as SSZ. */
  block(name: number | 'other-state' | 'wrong-proposer' | 'invalid' | 'invalid-vote'): Uint8Array
}

/** It is made in a new folder, which is deleted at the end. */
export async function makeChain(options: MadeChainOptions): Promise<OpenedChain> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'tetrad-made-chain-'))
  const file = join(import.meta.dirname, 'make-chain.ts')
  const making = promisify(execFile)(process.execPath, [file, folder.path, JSON.stringify(options)])
  // A large chain takes minutes.
  if (options.showsProgress) making.child.stderr?.pipe(process.stderr)
  await making.catch((error: ExecFileException) => {
    const end = error.signal ? `was killed by ${error.signal}, perhaps for lack of memory` : `ended with ${error.code}`
    throw new Error(`the process that makes a chain ${end}: ${error.message}`)
  })
  const made = JSON.parse(readFileSync(join(folder.path, 'chain.json'), 'utf8')) as MadeChain
  return {
    ...made,
    stateFile: join(folder.path, 'state'),
    block: (name) => readFileSync(join(folder.path, `${name}.block`)),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

/** For the option `skip` of a test: false if this machine has the native library. */
export const skipWithoutNative: string | false = isNativeInstalled()
  ? false
  : 'there is no native library for this machine'
