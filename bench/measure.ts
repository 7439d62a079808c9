// Shared by the benchmarks: starts their processes, reads the line of JSON that each prints, computes medians, divides lists.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** Starts a file of this folder. */
export const launch = (file: string, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [join(import.meta.dirname, file), ...args], { stdio: ['pipe', 'pipe', 'inherit'] })

export async function firstLine<T>(child: ChildProcess): Promise<T> {
  if (!child.stdout) throw new Error('no output to read')
  for await (const line of createInterface({ input: child.stdout })) return JSON.parse(line) as T
  throw new Error('the process ended without printing a line')
}

export const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0

export function* batchesOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
