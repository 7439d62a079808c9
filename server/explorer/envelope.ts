// The envelope around every successful result of the group.

export const wrapResult = <T>(result: T) => ({ is: 'body', body: { status: '1', message: 'OK', result } }) as const
