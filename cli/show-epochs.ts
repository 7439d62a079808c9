// The progress of the first start of the demo.
import { redrawLine } from './progress.ts'

/** One line on a terminal that is redrawn, and removed at the end. Nothing elsewhere. */
export function showEpochs(
  read: number,
  total: number,
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): void {
  const text = read < total ? `Preparing demo data: ${Math.floor((100 * read) / total)} %` : ''
  redrawLine(text, stream)
}
