# Completion of the attend command for bash. Sourced by bash-completion, or by hand.

# Files, folders included; readline then adds what belongs behind a name.
_attend_files()
{
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_attend_words()
{
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Templates to start from; an option is offered behind each colon.
_attend_problems()
{
    local option list="b8.h12.q512.k512.d64 b32.h12.q128.k128.d64 b1.h16.q1024.k1024.d64 b64.h32.g8.q1.k2048.d128"
    compopt -o nospace 2>/dev/null
    case $1 in
    *:*)
        list=
        for option in causal causal-top-left position= window= prefix= lengths= left packed page= shared= bf16 f16 kv=bf16 \
            kv=f16 visible visible= bits bits= bias bias= full scale= softcap= alibi sinks keysums memory=huge memory=small seed=; do
            list+=" ${1%:*}:$option"
        done
        ;;
    esac
    _attend_words "$list" "$1"
    # Readline replaces what follows the last break only.
    case $COMP_WORDBREAKS in
    *:*)
        local kept=${1%"${1##*[:=]}"}
        COMPREPLY=("${COMPREPLY[@]#"$kept"}")
        ;;
    esac
}

# The word under the cursor and the one before it, where bash has split them at colons and equal signs.
_attend_split()
{
    local line=${COMP_LINE:0:COMP_POINT} words
    read -ra words <<<"$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    current=${words[${#words[@]} - 1]}
    previous=${words[${#words[@]} - 2]}
    command=${words[1]}
    position=$((${#words[@]} - 1))
    case $current in
    --*=*)
        previous=${current%%=*}
        current=${current#*=}
        ;;
    esac
}

_attend()
{
    local current previous command position
    local team="--threads --cpus --bind --isa"
    _attend_split
    COMPREPLY=()
    if ((position == 1)); then
        _attend_words "run show info bench explain --help --version" "$current"
        return
    fi
    case $previous in
    --query | --key | --value | --output | --lse | --weights | --key-lengths | --key-starts | --query-lengths | \
        --query-starts | --query-offsets | --key-offsets | --visible | --positions | --prefix-lengths | --bias | \
        --alibi-slopes | --sinks | --key-sums | --heatmap)
        _attend_files "$current"
        return
        ;;
    --causal | --diagonal) _attend_words "top-left bottom-right" "$current" && return ;;
    --bind) _attend_words "auto cores off" "$current" && return ;;
    --isa) _attend_words "auto portable avx2 avx512 neon" "$current" && return ;;
    --dtype) _attend_words "f32 bf16 f16" "$current" && return ;;
    --threads | --cpus | --scale | --softcap | --window | --visible-tail | --deadline | --digits | --repeat) return ;;
    esac
    case $command in
    run)
        _attend_words "--query --key --value --output --lse --weights --key-sums --key-lengths --key-starts
            --query-lengths --query-starts --query-offsets --key-offsets --visible --visible-tail --causal --window
            --diagonal --positions --prefix-lengths --scale --softcap --bias --alibi --alibi-slopes --sinks --dtype --bf16
            --deadline $team --quiet --help" "$current"
        ;;
    show)
        case $current in
        -*) _attend_words "--scale --no-padding-mask --causal --digits --heatmap --isa --help" "$current" ;;
        *) _attend_files "$current" ;;
        esac
        ;;
    info) _attend_words "$team --json --help" "$current" ;;
    bench)
        case $current in
        -*) _attend_words "$team --repeat --cold --json --help" "$current" ;;
        *) _attend_problems "$current" ;;
        esac
        ;;
    explain)
        case $current in
        -*) _attend_words "--isa --threads --json --help" "$current" ;;
        *) _attend_problems "$current" ;;
        esac
        ;;
    esac
}

complete -F _attend attend
