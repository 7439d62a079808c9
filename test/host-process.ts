// The process of a server in a whole-system run (whole-system-host.ts). It can be killed at any time; a process that is
// still alive at the end is used for the next run.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { HostCalls } from './whole-system-host.ts'

const hostFile = join(import.meta.dirname, 'whole-system-host.ts')

export class HostDied extends Error {}

export const ignoreDeath = (error: unknown): void => {
  if (!(error instanceof HostDied)) throw error
}

export class HostProcess {
  readonly #child: ChildProcess
  readonly #calls = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  readonly exited: Promise<unknown>
  #next = 0
  isAlive = true

  constructor() {
    this.#child = fork(hostFile, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    this.exited = once(this.#child, 'exit').then(() => {
      this.isAlive = false
      for (const { reject } of this.#calls.values()) reject(new HostDied())
      this.#calls.clear()
    })
    this.#child.on('message', (message: { id: number; result?: unknown; error?: string } | 'up') => {
      if (message === 'up') return
      const call = this.#calls.get(message.id)
      this.#calls.delete(message.id)
      if (message.error === undefined) call?.resolve(message.result)
      else call?.reject(new Error(message.error))
    })
  }

  call<N extends keyof HostCalls>(name: N, input: Parameters<HostCalls[N]>[0]): ReturnType<HostCalls[N]> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (!this.isAlive) reject(new HostDied())
    else {
      const id = ++this.#next
      this.#calls.set(id, { resolve, reject })
      this.#child.send({ id, name, input }, (error) => error && reject(new HostDied()))
    }
    return promise as ReturnType<HostCalls[N]>
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.exited
  }
}

const idle: HostProcess[] = []

export const takeHost = (): HostProcess => {
  const host = idle.pop()
  return host?.isAlive ? host : new HostProcess()
}

export const keepHost = (host: HostProcess): void => void idle.push(host)

export async function killIdleHosts(): Promise<void> {
  for (const host of idle.splice(0)) await host.kill()
}
