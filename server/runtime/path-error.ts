// What the system says about a file or folder that cannot be used, in words an operator can act on.

const messages: Readonly<Record<string, string>> = {
  ENOSPC: 'cannot be written because the disk is full; free some space there, or name another place',
  EDQUOT: 'cannot be written because this user may store no more there; free some space, or name another place',
  EROFS: 'cannot be written because the disk is mounted read-only; name another place',
  EACCES: 'may not be used by this user; check the owner and the permissions of it and of its folder',
  EPERM: 'may not be used by this user; check the owner and the permissions of it and of its folder',
}

export class PathError extends Error {
  readonly code: string

  constructor(code: string, path: string, cause?: unknown) {
    super(`${path} ${messages[code]}`, { cause })
    this.name = 'PathError'
    this.code = code
  }
}

export const isPathCode = (code: unknown): code is string => typeof code === 'string' && code in messages

/** `path`: what was written; the system does not always say. Anything that is not about a path goes through unchanged. */
export function renamePath(error: unknown, path?: string): unknown {
  if (!(error instanceof Error) || error instanceof PathError || !('code' in error)) return error
  const { code, dest, path: named } = error as NodeJS.ErrnoException & { dest?: string }
  const shownPath = path ?? dest ?? named
  return isPathCode(code) && shownPath !== undefined ? new PathError(code, shownPath, error) : error
}
